"""Adapter for Apertium's web service (APy)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Annotated, ClassVar

from annotated_types import MaxLen

from assay.model import Failure, Reply, Translate
from workers.egress import CallFailed, Response
from workers.targets.chain.chain_route import check_path, hops
from workers.targets.parsing.answer_parsing import Misread
from workers.targets.protocols.http.adapter import Request, as_list, dig, post_form
from workers.targets.protocols.http.translator import HttpTranslator, texts_of, three_letters
from workers.targets.settings import TranslatorSettings

MAX_LENGTH = 41_000
"""Maximum length of a text in characters; APy silently drops the rest of a longer text."""


@dataclass(frozen=True, kw_only=True)
class ApertiumSettings(TranslatorSettings):
    """Settings of an Apertium target."""

    mark_unknown: bool = False
    """Whether Apertium marks unknown words with an asterisk."""
    chain: Annotated[tuple[str, ...], MaxLen(20)] = ()
    """Languages through which every text is translated before the requested language, in one call of /translateChain,
    such as eng, spa, eng. If the first is also the last, translations back into it skip the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chain:
            check_path(self.chain, "chain")


class Apertium(HttpTranslator[ApertiumSettings]):
    """Adapter for APy, with one text per call."""

    protocol: ClassVar[str] = "apertium"
    summary: ClassVar[str] = "Apertium APy: form POST /translate with langpair=eng|spa, or /translateChain"
    settings_type: ClassVar[type] = ApertiumSettings
    notes: ClassVar[tuple[str, ...]] = (
        f"texts above {MAX_LENGTH:,} characters are not sent: the service drops the rest silently",
        "words its dictionaries cannot handle come back marked with #, @ or *",
        "languages are sent as ISO 639-3; a variety (cat_valencia) needs an entry in language_codes",
    )

    def _language_paths(self) -> Sequence[str]:
        return ("/listPairs",)

    def _pairs_in(self, *documents: object) -> Collection[tuple[str, str]]:
        pairs: set[tuple[str, str]] = set()
        for pair in as_list(dig(documents[0], "responseData")):
            pairs.update(product(self._tags([dig(pair, "sourceLanguage")]), self._tags([dig(pair, "targetLanguage")])))
        return {pair for pair in self._requestable_pairs(pairs) if self._is_served(pair, pairs)}

    def code(self, language: str) -> str:
        """Return the ISO 639-3 code of a language, unless the settings state another code."""
        return self.settings.language_codes.get(language) or three_letters(language)

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        marks = "yes" if self.settings.mark_unknown else "no"
        codes = self._route_codes(source, target)
        path, field = ("/translate", "langpair") if len(codes) == 2 else ("/translateChain", "langpairs")
        return post_form(path, {field: "|".join(codes), "q": texts[0], "markUnknown": marks})

    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:  # noqa: ARG002 - one text a call
        """Return the translated text; status 200 may come with an error in the body."""
        body = response.json()
        status = body.get("responseStatus", 200) if isinstance(body, dict) else 200
        if status != 200:
            raise Misread(f"answered 200, but with an error{response.quote()}")
        return texts_of([dig(body, "responseData", "translatedText")], 1)

    def _refusal(self, ask: Translate) -> Failure | None:
        if len(ask.text) > MAX_LENGTH:
            message = f"the text has {len(ask.text):,} characters; Apertium ignores all after {MAX_LENGTH:,}"
            return Failure("unsupported", message)
        return None

    def _route_codes(self, source: str, target: str) -> list[str]:
        """Return the languages through which a text is translated from `source` to `target`, in Apertium's codes."""
        source_code, target_code = self.code(source), self.code(target)
        if not self.settings.chain:
            return [source_code, target_code]
        route = hops([[self.code(language) for language in self.settings.chain]], source_code, target_code)
        return [route[0].source, *(hop.target for hop in route)]

    def _requestable_pairs(self, pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return the language pairs that can be requested; with a chain of languages, those with its first language."""
        if not self.settings.chain:
            return pairs
        home_tags = self._tags([self.code(self.settings.chain[0])])  # where all routes begin or end
        languages = {language for pair in pairs for language in pair}
        return {pair for home in home_tags for other in languages for pair in ((home, other), (other, home))}

    def _is_served(self, pair: tuple[str, str], pairs: set[tuple[str, str]]) -> bool:
        """Whether all translations on the route of the pair, in Apertium's codes, are among the listed `pairs`."""
        try:
            codes = self._route_codes(*pair)
        except CallFailed:
            return False
        served_pairs = {(self.code(source), self.code(target)) for source, target in pairs}
        return all(step in served_pairs for step in pairwise(codes))
