"""Matching of word lists to specifications."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from assay.canonical import digest_of
from assay.catalog.stereotypes import StereotypeWords
from store.corpora import specifications
from store.corpora.corpora import Rules


def rules_for(
    c: Connection, tenant: str, words: StereotypeWords, named: str | Sequence[str] | None
) -> tuple[Rules, str]:
    """Find the specification with exactly these words, and its language.

    `named` has names of specifications in the experiment; the words' own name is tried too. If no specification has
    these words, return rules without a version, and ``"en"``.
    """
    references = [named] if isinstance(named, str) else list(named or ())
    written = specifications.dump_words(words)
    for reference in (*references, words.name):
        found = specifications.find_named(c, tenant, reference)
        if found is not None and found.name == words.name and found.words == written:
            return Rules(found.name, found.version, found.digest, found.words), found.language
    return Rules(words.name, None, digest_of({"words": written}), written), "en"
