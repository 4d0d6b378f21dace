"""Adapter for Azure Translator, in two versions of its API."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlencode

from annotated_types import Ge, Le

from assay.errors import SpecificationError
from assay.model import Reply, Translate
from workers.egress import Response
from workers.targets.auth.schemes import Placed
from workers.targets.protocols.http.adapter import Request, as_list, dig, dig_each, post_json
from workers.targets.protocols.http.translator import HttpTranslator, all_pairs, texts_of
from workers.targets.settings import TranslatorSettings

DEFAULT_CODES: Mapping[str, str] = {"zh": "zh-Hans", "sr": "sr-Cyrl"}
"""Codes that Azure requires for languages with several scripts, for requests without a script."""

_REGION = re.compile(r"[a-z0-9-]{0,40}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class AzureSettings(TranslatorSettings):
    """Settings of an Azure target."""

    api_version: Literal["3.0", "2026-06-06"] = "3.0"
    """3.0 takes a list of texts, 2026-06-06 a list of inputs with their targets."""
    region: str = ""
    """Region of the resource; required for a regional or multi-service key."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 100
    """Most texts in one call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _REGION.fullmatch(self.region):
            raise SpecificationError(f"region must look like 'westeurope', not {self.region!r}", "region")


class Azure(HttpTranslator[AzureSettings]):
    """Adapter for Azure Translator."""

    protocol: ClassVar[str] = "azure"
    summary: ClassVar[str] = "Azure Translator 3.0 or 2026-06-06, with a list of texts"
    settings_type: ClassVar[type] = AzureSettings
    needs_secret: ClassVar[bool] = True
    code_aliases: ClassVar[Mapping[str, str]] = DEFAULT_CODES
    notes: ClassVar[tuple[str, ...]] = (
        "a resource of its own has another base_url; include its path up to and without /translate",
        "a regional key without the region setting is refused with status 401",
    )

    def _language_paths(self) -> Sequence[str]:
        return (f"/languages?api-version={self.settings.api_version}&scope=translation",)

    def _pairs_in(self, *documents: object) -> Collection[tuple[str, str]]:
        languages = dig(documents[0], "translation")
        tags = self._tags(languages if isinstance(languages, dict) else as_list(languages))
        return all_pairs(tags, tags)

    def usual_auth(self) -> Placed:
        """Return the scheme that sends the key in Azure's header."""
        return Placed(type="header", name="Ocp-Apim-Subscription-Key")

    def code(self, language: str) -> str:
        """Return Azure's code for a language: that of the settings, or a script for Chinese and Serbian."""
        return self.settings.language_codes.get(language) or DEFAULT_CODES.get(language, language)

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        """Build the request for some texts, in the form of the configured version of the API."""
        headers = {"Ocp-Apim-Subscription-Region": self.settings.region} if self.settings.region else {}
        version, source_code, target_code = self.settings.api_version, self.code(source), self.code(target)
        if version == "3.0":
            query = urlencode({"api-version": version, "from": source_code, "to": target_code})
            return post_json(f"/translate?{query}", [{"Text": text} for text in texts], headers)
        inputs = [{"text": text, "language": source_code, "targets": [{"language": target_code}]} for text in texts]
        return post_json(f"/translate?api-version={version}", {"inputs": inputs}, headers)

    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        document = response.json()
        results = document if self.settings.api_version == "3.0" else dig(document, "value")
        return texts_of(dig_each(results, "translations", 0, "text"), len(asks))
