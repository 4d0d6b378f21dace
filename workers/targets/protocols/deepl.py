"""Adapter for DeepL."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le

from assay.document import JsonObject
from assay.model import Reply, Translate
from workers.egress import Response
from workers.targets.auth.schemes import Placed
from workers.targets.protocols.http.adapter import Request, dig, dig_each, post_json
from workers.targets.protocols.http.translator import HttpTranslator, all_pairs, texts_of
from workers.targets.settings import TranslatorSettings

DEFAULT_TARGETS: Mapping[str, str] = {"en": "EN-US", "pt": "PT-BR", "zh": "ZH-HANS"}
"""Variants of target languages that DeepL requires, for requests without a variant."""


@dataclass(frozen=True, kw_only=True)
class DeepLSettings(TranslatorSettings):
    """Settings of a DeepL target. ``language_codes`` applies to target languages."""

    batch_maximum: Annotated[int, Ge(1), Le(50)] = 50
    """Most texts in one call."""
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] | None = None
    """Formal or informal address, if the target language distinguishes them."""


class DeepL(HttpTranslator[DeepLSettings]):
    """Adapter for DeepL's API, version 2."""

    protocol: ClassVar[str] = "deepl"
    summary: ClassVar[str] = "DeepL: POST /v2/translate with a list of texts"
    settings_type: ClassVar[type] = DeepLSettings
    needs_secret: ClassVar[bool] = True
    code_aliases: ClassVar[Mapping[str, str]] = DEFAULT_TARGETS
    notes: ClassVar[tuple[str, ...]] = (
        "a free key (it ends in :fx) works with the api-free host only",
        "status 456 means that the month's characters are used up; it ends the job",
        "English and Portuguese as target languages are sent as EN-US and PT-BR unless language_codes says otherwise",
    )

    def _language_paths(self) -> Sequence[str]:
        return ("/v2/languages?type=source", "/v2/languages?type=target")

    def _pairs_in(self, *documents: object) -> Collection[tuple[str, str]]:
        sources, targets = (self._tags(dig_each(document, "language")) for document in documents)
        return all_pairs(sources, targets)

    def usual_auth(self) -> Placed:
        """Return the scheme that sends the key in DeepL's header."""
        return Placed(type="header", name="Authorization", value="DeepL-Auth-Key {secret}")

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        """Build the request, with DeepL's codes of the languages."""
        body: JsonObject = {
            "text": list(texts),
            # without the region, because DeepL accepts no variants of source languages
            "source_lang": source.split("-", maxsplit=1)[0].upper(),
            "target_lang": self.settings.language_codes.get(target) or DEFAULT_TARGETS.get(target, target.upper()),
        }
        if self.settings.formality:
            body["formality"] = self.settings.formality
        return post_json("/v2/translate", body)

    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        return texts_of(dig_each(dig(response.json(), "translations"), "text"), len(asks))
