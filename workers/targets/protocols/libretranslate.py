"""Adapter for LibreTranslate and compatible services."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from assay.document import JsonObject
from assay.model import Reply, Translate
from workers.egress import CallFailed, Response
from workers.targets.auth.schemes import Placed
from workers.targets.protocols.http.adapter import Request, as_list, dig, post_json
from workers.targets.protocols.http.translator import HttpTranslator, all_pairs, tags_of, texts_of
from workers.targets.settings import TranslatorSettings

ALIASES: Mapping[str, str] = {"zh": "zh-Hans", "zt": "zh-Hant", "pb": "pt-BR"}
"""Codes that LibreTranslate accepts but does not list."""


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
    notes: ClassVar[tuple[str, ...]] = (
        "the secret travels as api_key in the body",
        "a wrong key may be answered with status 200 and an emoji; it is recognised and treated as refused access",
        "a ban is status 403",
    )

    def usual_auth(self) -> Placed:
        """Return the scheme that sends the key in a field of the body."""
        return Placed(type="body", name="api_key")

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Return the pairs of ``/languages``; if it lists no targets, all pairs of its languages."""
        response = await self._send(Request("GET", "/languages"))
        languages = as_list(response.json(), origin=response.origin)
        codes = [str(dig(language, "code", origin=response.origin)) for language in languages]
        pairs: set[tuple[str, str]] = set()
        for code, language in zip(codes, languages, strict=True):
            listed_targets = language.get("targets")
            targets = {str(target) for target in listed_targets} if isinstance(listed_targets, list) else set(codes)
            target_tags = [tag for target in targets for tag in self._tags(target)]
            pairs |= all_pairs(self._tags(code), target_tags)
        return frozenset(pairs)

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        body: JsonObject = {
            "q": texts[0] if len(texts) == 1 else list(texts),
            "source": self.code(source),
            "target": self.code(target),
            "format": "text",
        }
        return post_json("/translate", body)

    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        answer = dig(response.json(), "translatedText", origin=response.origin)
        texts = texts_of([answer] if isinstance(answer, str) else answer, len(asks), origin=response.origin)
        if all(_is_emoji_for_words(text, ask.text) for text, ask in zip(texts, asks, strict=True)):
            raise CallFailed("auth", f"{response.origin} answered with an emoji, which means that the key is wrong")
        return texts

    def _tags(self, code: str) -> set[str]:
        return tags_of(code, self.settings.language_codes, ALIASES)


def _is_emoji_for_words(translation: str, question: str) -> bool:
    """Whether a text with words was translated to emoji without any word."""
    return (
        bool(re.search(r"\w", question))
        and not re.search(r"\w", translation)
        and any(unicodedata.category(character) == "So" for character in translation)
    )
