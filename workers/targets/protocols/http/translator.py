"""Translators over HTTP: texts of one pair of languages go out, as many texts come back.

A protocol is two pure steps: write the request for some texts (`_ask_texts`), and read the texts
out of the answer (`_read`). Services spell languages in several ways: ISO 639-1 with or without region,
ISO 639-3, or codes of their own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from langcodes import Language
from langcodes.tag_parser import LanguageTagError

from assay.model import Failure, Kind, Reply, Translate
from workers.egress import CallFailed, Response
from workers.targets.protocols.http.adapter import HttpAdapter, Request, listed
from workers.targets.settings import TranslatorSettings


@lru_cache(maxsize=1024)
def three_letters(code: str) -> str:
    """Give the ISO 639-3 code of a tag's language (``"es"`` -> ``"spa"``); an unknown one is kept."""
    try:
        return Language.get(code).to_alpha3()
    except (LanguageTagError, LookupError):
        return code


@lru_cache(maxsize=4096)
def standard_tag(code: str) -> str:
    """Give the tag a request would use (``"eng"`` -> ``"en"``, ``"ZH_HANS"`` -> ``"zh-Hans"``)."""
    try:
        return Language.get(code.replace("_", "-")).to_tag()
    except LanguageTagError:
        return code


def names_of(spelling: str, *maps: Mapping[str, str]) -> set[str]:
    """Give every code by which a request may mean the language a service spells this way.

    Parameters
    ----------
    spelling : str
        The service's own code.
    *maps : mapping
        From a request's code to the service's, as settings and defaults have it.
    """
    mapped = {code for each in maps for code, theirs in each.items() if theirs.casefold() == spelling.casefold()}
    return mapped | {standard_tag(spelling)}


def all_pairs(sources: Iterable[str], targets: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Combine every source with every other target."""
    into = tuple(targets)
    return frozenset((source, target) for source in sources for target in into if source != target)


T = TypeVar("T", bound=TranslatorSettings)

LONGEST_FOR_NOTHING, LONGEST_PER_CHARACTER = 10_000, 10
"""Characters a translation may have, whatever the question and for each of its characters: no real one has so many.

Answers are kept until the experiment ends and may be asked back; a service that fills every one of
them up to the cap on responses would fill the memory.
"""


def texts_of(values: Any, expected: int, *, place: str) -> list[str]:
    """Make sure that an answer holds as many texts as were asked for.

    Raises
    ------
    CallFailed
        ``wrong-count`` or ``wrong-shape``.
    """
    texts = listed(values, place=place)
    if len(texts) != expected:
        raise CallFailed("wrong-count", f"{place} gave {len(texts)} translations for {expected} texts")
    for text in texts:
        if not isinstance(text, str):
            raise CallFailed("wrong-shape", f"{place} gave {type(text).__name__} where a translated text is due")
    return texts


def accept_text(said: str, ask: Translate, place: str) -> Reply:
    """Make a reply of a translation, unless it is far longer than what was to be translated."""
    longest = LONGEST_FOR_NOTHING + LONGEST_PER_CHARACTER * len(ask.text)
    if len(said) <= longest:
        return Reply(said)
    why = f"{place} answered {len(ask.text):,} characters with {len(said):,}; at most {longest:,} are taken"
    return Reply(failure=Failure("too-large", why))


class HttpTranslator(HttpAdapter[T, Translate]):
    """A translator spoken to over HTTP (an `Adapter`)."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TRANSLATOR})

    def code(self, language: str) -> str:
        """Spell a language as the service does."""
        return self.settings.language_codes.get(language, language)

    @abstractmethod
    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        """Write the request for some texts."""

    @abstractmethod
    def _read(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        """Read one text (or one reply) for each question, in their order."""

    def _ask_for(self, asks: Sequence[Translate]) -> Request:
        return self._ask_texts([ask.text for ask in asks], asks[0].source, asks[0].target)

    def _accept(self, said: Any, ask: Translate, place: str) -> Reply:
        return accept_text(said, ask, place)
