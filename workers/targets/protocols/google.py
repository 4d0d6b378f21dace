"""Adapter for Google Cloud Translation, version 2 (basic) and 3 (advanced)."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.model import Reply, Translate
from workers.egress import Response
from workers.targets.auth.schemes import Placed, Plain, Scheme
from workers.targets.protocols.http.adapter import Request, dig, dig_each, post_json
from workers.targets.protocols.http.translator import HttpTranslator, all_pairs, texts_of
from workers.targets.settings import TranslatorSettings

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class GoogleSettings(TranslatorSettings):
    """Settings of a Google target."""

    version: Literal["v2", "v3"] = "v2"
    """v2 takes an API key as the secret, v3 an OAuth access token."""
    project: str = ""
    """Project number or id; required for v3."""
    location: str = "global"
    """Location of version v3, such as ``global``."""
    batch_maximum: Annotated[int, Ge(1), Le(128)] = 64
    """Most texts in one call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, identifier in (("project", self.project), ("location", self.location)):
            is_optional = name == "project" and self.version == "v2" and not identifier
            if not is_optional and not _IDENTIFIER.fullmatch(identifier):
                raise SpecificationError(f"{name} must be an identifier of Google Cloud, not {identifier!r}", name)


class Google(HttpTranslator[GoogleSettings]):
    """Adapter for Google Cloud Translation."""

    protocol: ClassVar[str] = "google"
    summary: ClassVar[str] = "Google Cloud Translation v2 or v3, with a list of texts"
    settings_type: ClassVar[type] = GoogleSettings
    needs_secret: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "texts are sent as plain text; as HTML, v2's default, it would return entities",
        "the key of v2 travels in a header, not in the address",
        "the access token of v3 expires within the hour; long jobs need v2",
    )

    def _language_paths(self) -> Sequence[str]:
        is_v2 = self.settings.version == "v2"
        return ("/language/translate/v2/languages" if is_v2 else f"{self._project_path}/supportedLanguages",)

    def _pairs_in(self, *documents: object) -> Collection[tuple[str, str]]:
        """Return all pairs of the listed languages."""
        (document,) = documents
        if self.settings.version == "v2":
            tags = self._tags(dig_each(dig(document, "data", "languages"), "language"))
        else:
            tags = self._tags(dig_each(dig(document, "languages"), "languageCode"))
        return all_pairs(tags, tags)

    @property
    def _project_path(self) -> str:
        return f"/v3/projects/{self.settings.project}/locations/{self.settings.location}"

    def usual_auth(self) -> Plain | Scheme:
        """Return the default authentication: an API key in a header for v2, a bearer token for v3."""
        return Placed(type="header", name="X-Goog-Api-Key") if self.settings.version == "v2" else "bearer"

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        """Build the request for some texts, in the form of the configured version of the API."""
        body: JsonObject
        if self.settings.version == "v2":
            body = {"q": list(texts), "source": self.code(source), "target": self.code(target), "format": "text"}
            return post_json("/language/translate/v2", body)
        body = {
            "contents": list(texts),
            "mimeType": "text/plain",
            "sourceLanguageCode": self.code(source),
            "targetLanguageCode": self.code(target),
        }
        return post_json(f"{self._project_path}:translateText", body)

    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        path = ("data", "translations") if self.settings.version == "v2" else ("translations",)
        return texts_of(dig_each(dig(response.json(), *path), "translatedText"), len(asks))
