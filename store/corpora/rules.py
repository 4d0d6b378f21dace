"""Matching of word lists to specifications, and of stored sentences to word lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection

from assay.canonical import digest_of
from assay.catalog.stereotypes import StereotypeWords
from assay.methods.stereotype_score.inputs import Sentence, read
from store.corpora import specifications
from store.corpora.corpora import Rules
from store.corpora.items import MOST_ITEMS, StoredItem, sentences_of_rules, text_digest
from store.corpora.materials import as_sentence


def rules_for(
    c: Connection, tenant: str, words: StereotypeWords, named: str | Sequence[str] | None
) -> tuple[Rules, str]:
    """Find the specification with exactly these words, and its language.

    Parameters
    ----------
    named : str or sequence of str, optional
        Names of specifications in the experiment; the words' own name is tried too.

    Returns
    -------
    (Rules, str)
        Without a version and with ``"en"`` if no specification has these words.
    """
    references = [named] if isinstance(named, str) else list(named or ())
    written = specifications.dump_words(words)
    for reference in (*references, words.name):
        found = specifications.find_named(c, tenant, reference)
        if found is not None and found.name == words.name and found.words == written:
            return Rules(found.name, found.version, found.digest, found.words), found.language
    return Rules(words.name, None, digest_of({"words": written}), written), "en"


def own_sentences(
    c: Connection, tenant: str, words: StereotypeWords, named: str | Sequence[str] | None
) -> list[StoredItem]:
    """List sentences for these words from the tenant's own corpora; `named` as for `rules_for`."""
    rules, _ = rules_for(c, tenant, words, named)
    return sentences_of_rules(c, tenant, rules.digest, "", MOST_ITEMS, own=True)


def lacking(
    words: StereotypeWords, own: Iterable[Sentence], others: Iterable[StoredItem], per_term: int
) -> Iterator[StoredItem]:
    """Choose stored sentences for the terms that have fewer than `per_term` sentences.

    Parameters
    ----------
    own : iterable of Sentence
        Sentences that are present.
    others : iterable of StoredItem
        Candidates.
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
