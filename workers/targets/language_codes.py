"""How services spell languages: ISO 639-1 with or without region, ISO 639-3, or their own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from langcodes import Language
from langcodes.tag_parser import LanguageTagError


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
