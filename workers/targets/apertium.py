"""Apertium's web service (APy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.model import Failure, Reply, Translate
from workers.egress import CallFailed, Response
from workers.targets.http_adapter import Request, dig, listed, post_form
from workers.targets.http_translator import HttpTranslator, texts_of
from workers.targets.settings import TranslatorSettings
from workers.targets.tongue_codes import names_of, three_letters

LONGEST = 41_000
"""Characters of a text; above about this many APy drops the rest and answers 200 all the same."""


@dataclass(frozen=True, kw_only=True)
class ApertiumSettings(TranslatorSettings):
    """Settings of an Apertium target."""

    mark_unknown: bool = False
    """Whether words it does not know are marked with an asterisk."""


class Apertium(HttpTranslator[ApertiumSettings]):
    """Speaks to APy, one text a call."""

    protocol: ClassVar[str] = "apertium"
    summary: ClassVar[str] = "Apertium APy: form POST /translate with langpair=eng|spa"
    settings_type: ClassVar[type] = ApertiumSettings
    notes: ClassVar[tuple[str, ...]] = (
        f"texts above {LONGEST:,} characters are not sent: the service drops the rest silently",
        "words its dictionaries cannot handle come back marked with #, @ or *",
        "languages are sent as ISO 639-3; a variety (cat_valencia) needs an entry in language_codes",
    )

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Ask ``/listPairs``."""
        response = await self._send(Request("GET", "/listPairs"))
        pairs: set[tuple[str, str]] = set()
        for each in listed(dig(response.json(), "responseData", place=response.place), place=response.place):
            sources = self._named(dig(each, "sourceLanguage", place=response.place))
            targets = self._named(dig(each, "targetLanguage", place=response.place))
            pairs |= {(source, target) for source in sources for target in targets}
        return frozenset(pairs)

    def code(self, language: str) -> str:
        """Spell a language in three letters."""
        return self.settings.language_codes.get(language) or three_letters(language)

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        return post_form(
            "/translate",
            {
                "langpair": f"{self.code(source)}|{self.code(target)}",
                "q": texts[0],
                "markUnknown": "yes" if self.settings.mark_unknown else "no",
            },
        )

    def _read(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:  # noqa: ARG002 - one text a call
        body = response.json()
        status = body.get("responseStatus", 200) if isinstance(body, dict) else 200
        if status != 200:
            raise CallFailed("wrong-shape", f"{response.place} answered 200 and, inside, an error")
        return texts_of([dig(body, "responseData", "translatedText", place=response.place)], 1, place=response.place)

    def _refuse(self, ask: Translate) -> Failure | None:
        if len(ask.text) > LONGEST:
            return Failure(
                "unsupported", f"the text has {len(ask.text):,} characters; Apertium drops what follows {LONGEST:,}"
            )
        return None

    def _named(self, code: Any) -> set[str]:
        return names_of(str(code), self.settings.language_codes)
