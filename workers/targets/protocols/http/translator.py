"""Base class of the HTTP adapters for translators.

Services write languages as ISO 639-1 codes with or without a region, as ISO 639-3 codes, or as codes of their own.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from assay.catalog import languages
from assay.model import Failure, Kind, Reply, Translate
from workers.egress import Response
from workers.targets.parsing.answer_parsing import Misread
from workers.targets.protocols.http.adapter import HttpAdapter, Request, as_list, failing_whole_call
from workers.targets.settings import TranslatorSettings


def _has_no_short_code(code: str) -> bool:
    """Return whether a code is of a language that has only one of three letters (``hbs``); langcodes changes these."""
    return len(code) == 3 and code.lower() in languages()


@lru_cache(maxsize=1024)
def three_letters(code: str) -> str:
    """Return the ISO 639-3 code of a language (``"es"`` -> ``"spa"``); an unknown code is returned unchanged."""
    if _has_no_short_code(code):
        return code.lower()
    from langcodes import Language  # imported here, because its tables would add 0.1 s to every start
    from langcodes.tag_parser import LanguageTagError

    try:
        return Language.get(code).to_alpha3()
    except (LanguageTagError, LookupError):
        return code


def name_with_code(code: str) -> str:
    """Return the name of a language with its code: "Spanish (es)"; an unknown code is returned unchanged."""
    name = languages().get(code.split("-", maxsplit=1)[0].lower())
    return f"{name} ({code})" if name else code


@lru_cache(maxsize=4096)
def standard_tag(code: str) -> str:
    """Return the standard tag of a language (``"eng"`` -> ``"en"``, ``"ZH_HANS"`` -> ``"zh-Hans"``)."""
    if _has_no_short_code(code):
        return code.lower()
    from langcodes import Language
    from langcodes.tag_parser import LanguageTagError

    try:
        return Language.get(code.replace("_", "-")).to_tag()
    except LanguageTagError:
        return code


def all_pairs(sources: Iterable[str], targets: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Return all pairs of a source language and a target language that differ."""
    target_list = tuple(targets)
    return frozenset((source, target) for source in sources for target in target_list if source != target)


T = TypeVar("T", bound=TranslatorSettings)

LONGEST_FOR_NOTHING, LONGEST_PER_CHARACTER = 10_000, 10
"""Maximum length of a translation in characters: the first number, plus the second for each character of the text.

Answers are held in memory until the experiment ends, so their size is limited.
"""


def texts_of(answers: object, expected: int) -> list[str]:
    """Return the translations, or raise `Misread` if they are no texts or not `expected` in number."""
    texts = as_list(answers)
    if len(texts) != expected:
        raise Misread(f"gave {len(texts)} translations for {expected} texts", "wrong-count")
    for text in texts:
        if not isinstance(text, str):
            raise Misread(f"returned {type(text).__name__}; expected a translated text")
    return texts


def accept_text(translation: str, ask: Translate, origin: str) -> Reply:
    """Return a translation as a reply, or a failure if it is far longer than the text."""
    longest = LONGEST_FOR_NOTHING + LONGEST_PER_CHARACTER * len(ask.text)
    if len(translation) <= longest:
        return Reply(translation)
    message = f"{origin} answered {len(ask.text):,} characters with {len(translation):,}; the maximum is {longest:,}"
    return Reply(failure=Failure("too-large", message))


class HttpTranslator(HttpAdapter[T, Translate]):
    """Base class of the HTTP adapters for translators."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TRANSLATOR})
    code_aliases: ClassVar[Mapping[str, str]] = {}
    """The service's own codes by language tag of a request, in addition to the setting `language_codes`."""

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Return the language pairs that the service lists; ``None`` if it has no list."""
        responses = [await self._send(Request("GET", path)) for path in self._language_paths()]
        if not responses:
            return None
        documents = [response.json() for response in responses]
        with failing_whole_call(responses[0].origin):
            return frozenset(self._pairs_in(*documents))

    def _language_paths(self) -> Sequence[str]:
        """Return the paths of the service's lists of languages."""
        return ()

    def _pairs_in(self, *documents: object) -> Collection[tuple[str, str]]:
        """Return the language pairs in the answers from `_language_paths`; a `Misread` fails the call."""
        raise NotImplementedError

    def _tags(self, codes: Iterable[object]) -> set[str]:
        """Return all language tags that a request may use for codes of the service."""
        aliases = [*self.settings.language_codes.items(), *self.code_aliases.items()]
        tags: set[str] = set()
        for code in map(str, codes):
            tags |= {standard_tag(code), *(tag for tag, alias in aliases if alias.casefold() == code.casefold())}
        return tags

    def code(self, language: str) -> str:
        """Return the service's code for a language."""
        return self.settings.language_codes.get(language, language)

    @abstractmethod
    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        """Build the request for some texts."""

    @abstractmethod
    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        """Parse one text (or one reply) for each question, in their order."""

    def _build_request(self, asks: Sequence[Translate]) -> Request:
        return self._ask_texts([ask.text for ask in asks], asks[0].source, asks[0].target)

    def _validate_answer(self, translation: Any, ask: Translate, origin: str) -> Reply:
        return accept_text(translation, ask, origin)
