"""Adapter for LibreTranslate and compatible services."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from assay.document import JsonObject
from assay.model import Reply, Translate
from workers.egress import Response
from workers.targets.auth.schemes import Placed
from workers.targets.parsing.answer_parsing import Misread
from workers.targets.protocols.http.adapter import Request, as_list, dig, dig_each, post_json
from workers.targets.protocols.http.translator import HttpTranslator, all_pairs, texts_of
from workers.targets.settings import TranslatorSettings

ALIASES: Mapping[str, str] = {"zh": "zh-Hans", "zt": "zh-Hant", "pb": "pt-BR"}
"""Codes that LibreTranslate accepts but does not list, each with the listed code."""


@dataclass(frozen=True, kw_only=True)
class LibreTranslateSettings(TranslatorSettings):
    """Settings of a LibreTranslate target."""

    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 25
    """Most texts in one call; 1 sends each text by itself."""


class LibreTranslate(HttpTranslator[LibreTranslateSettings]):
    """Adapter for LibreTranslate."""

    protocol: ClassVar[str] = "libretranslate"
    summary: ClassVar[str] = "LibreTranslate: POST /translate with q, source and target"
    settings_type: ClassVar[type] = LibreTranslateSettings
    code_aliases: ClassVar[Mapping[str, str]] = ALIASES
    notes: ClassVar[tuple[str, ...]] = (
        "the secret travels as api_key in the body",
        "a wrong key may be answered with status 200 and an emoji; it is recognised and treated as refused access",
        "a ban is status 403",
    )

    def usual_auth(self) -> Placed:
        """Return the scheme that sends the key in a field of the body."""
        return Placed(type="body", name="api_key")

    def _language_paths(self) -> Sequence[str]:
        return ("/languages",)

    def _pairs_in(self, *documents: object) -> Collection[tuple[str, str]]:
        """Return the pairs of each source language with its targets, or with all languages if no targets are listed."""
        languages, codes = as_list(documents[0]), dig_each(documents[0], "code")
        pairs: set[tuple[str, str]] = set()
        for code, language in zip(codes, languages, strict=True):
            targets = language.get("targets")
            pairs |= all_pairs(self._tags([code]), self._tags(targets if isinstance(targets, list) else codes))
        return pairs

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        """Build the request; a single text is sent as such, several as a list."""
        body: JsonObject = {
            "q": texts[0] if len(texts) == 1 else list(texts),
            "source": self.code(source),
            "target": self.code(target),
            "format": "text",
        }
        return post_json("/translate", body)

    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        """Return the translations; raise `Misread` if emoji came in place of words, as is the answer to a wrong key."""
        answer = dig(response.json(), "translatedText")
        texts = texts_of([answer] if isinstance(answer, str) else answer, len(asks))
        if all(_is_emoji_for_words(text, ask.text) for text, ask in zip(texts, asks, strict=True)):
            raise Misread("answered with an emoji, which means that the key is wrong", "auth")
        return texts


def _is_emoji_for_words(translation: str, question: str) -> bool:
    """Whether a text with words was translated to emoji without any word."""
    return (
        bool(re.search(r"\w", question))
        and not re.search(r"\w", translation)
        and any(unicodedata.category(character) == "So" for character in translation)
    )
