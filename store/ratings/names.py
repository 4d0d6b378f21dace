"""Names of rated services that resemble a searched text, for searches with a typing error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from sqlalchemy import Connection, or_, select

from store.core.rows import equal, holds
from store.ratings.tables import service_ratings, site

MOST_NAMES = 2_000
"""Number of ratings whose names are compared; if there are more, of those that hold most of the text."""

MAX_COMPARED_CHARACTERS = 60
"""Length of the longest text that is compared: the time grows with its square."""

MOST_APART = 2
"""Largest difference of the lengths of two texts that are compared."""

SIMILAR = 0.65
"""Smallest similarity (0 to 1): one wrong letter of three is not similar, one of four is."""


def similar_names(
    c: Connection, tenant: str | None, q: str, *, mine: bool = False, kind: str | None = None
) -> list[str]:
    """Return at most three names, or words of names, that resemble a text, of the services that a tenant may list."""
    text, row = q.strip().casefold(), service_ratings.c
    if not text or len(text) > MAX_COMPARED_CHARACTERS:
        return []
    may_be_named = row.tenant == tenant if mine else or_(row.tenant == tenant, row.visibility == "public")
    named = select(row.name).where(row.current, may_be_named, row.withdrawn_at.is_(None), row.name.is_not(None))
    named = named.where(*equal(service_ratings, kind=kind)).limit(MOST_NAMES)
    names = c.execute(named.order_by(site)).scalars().all()
    if len(names) == MOST_NAMES:  # there may be more
        wrong = min(3, len(text) // 2)  # letters around one mistake, or two swapped; every second place is tried
        rest = [(text[:start], text[start + wrong :]) for start in range(0, len(text) - wrong + 2, 2)]
        near = or_(*(holds(c, row.searched, *filter(None, parts)) for parts in rest))
        names = c.execute(named.where(near)).scalars().all()
    return close_words(text, sorted(set(names)))


def close_words(text: str, names: Iterable[str]) -> list[str]:
    """Return the names, or words of names, that resemble a text, the most similar first."""
    words: dict[str, str] = {}
    for name in names:
        for word in (name, *re.split(r"[\W_]+", name)):
            if len(word) > 2 and abs(len(word) - len(text)) <= MOST_APART:
                words.setdefault(word.casefold(), word)
    return [words[match] for match in get_close_matches(text, words, 3, SIMILAR)]
