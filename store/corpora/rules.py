"""Which specification a list of words is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from assay.canonical import digest_of
from assay.catalog.stereotypes import StereotypeWords
from store.corpora import specifications
from store.corpora.corpora import Rules


def told(words: StereotypeWords) -> dict[str, Any]:
    """Write words down as a corpus keeps them."""
    return specifications.dump_words(words)


def rules_for(
    c: Connection, tenant: str, words: StereotypeWords, named: str | Sequence[str] | None
) -> tuple[Rules, str]:
    """Find the specification that words are of, and its language.

    Parameters
    ----------
    c : Connection
        Where to read.
    tenant : str
        Whose specifications are meant.
    words : StereotypeWords
        The words.
    named : str or sequence of str, optional
        What an experiment calls its specifications; the words' own name is looked up, too.

    Returns
    -------
    (Rules, str)
        Without a version, and in English, where the words are of no specification.
    """
    references = [named] if isinstance(named, str) else list(named or ())
    written = told(words)
    for reference in (*references, words.name):
        found = specifications.find_named(c, tenant, reference)
        if found is not None and found.name == words.name and found.words == written:
            return Rules(found.name, found.version, found.digest, found.words), found.language
    return Rules(words.name, None, digest_of({"words": written}), written), "en"
