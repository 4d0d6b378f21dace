"""Which specification a list of words is, and what is kept of a tenant's own for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from assay.canonical import digest_of
from assay.catalog.stereotypes import StereotypeWords
from assay.methods.shared.sentences import Sentence, read
from store.corpora import specifications
from store.corpora.corpora import Rules
from store.corpora.items import MOST_ITEMS, StoredItem, of_the_same_rules, text_digest
from store.corpora.materials import as_sentence


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


def own_sentences(
    c: Connection, tenant: str, words: StereotypeWords, named: str | Sequence[str] | None
) -> list[StoredItem]:
    """Read what a tenant's own corpora keep for words; `named` as for `rules_for`."""
    rules, _ = rules_for(c, tenant, words, named)
    return of_the_same_rules(c, tenant, rules.digest, "", MOST_ITEMS, own=True)


def lacking(
    words: StereotypeWords, own: Iterable[Sentence], others: Iterable[StoredItem], per_term: int
) -> Iterator[StoredItem]:
    """Go through sentences that are kept elsewhere, and take those of terms that do not have enough.

    Parameters
    ----------
    words : StereotypeWords
        What they are about.
    own : iterable of Sentence
        Those that are there.
    others : iterable of StoredItem
        Those that could be taken.
    per_term : int
        How many each term is to have.
    """
    own = list(own)
    have = Counter(pair.term for each in own if not isinstance(pair := read(each, words), str))
    known = {text_digest(each.text) for each in own}
    for item in others:
        pair = read(as_sentence(item), words)
        if not isinstance(pair, str) and have[pair.term] < per_term and item.digest not in known:
            have[pair.term] += 1
            known.add(item.digest)
            yield item
