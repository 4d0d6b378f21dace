"""References of stereotype-score: specifications, a corpus of sentences, and sentences that an author writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from assay.catalog.shipped import shipped_words
from assay.catalog.stereotypes import StereotypeWords
from assay.methods.shared.sentence_generation import Writing, reusable, written_items
from assay.methods.shared.sentences import Sentence, sentence_of
from assay.methods.shared.stereotype_design import StereotypeDesign
from assay.model import Observation
from assay.references import AuthoredItems, CorpusItem, Found, FoundCorpus, NamedCorpus, References

MOST_PAIRS = 10_000
"""Maximum number of pairs in a rating (20,000 sentences), because its document lists every pair."""


class SentenceReferences(StereotypeDesign[StereotypeWords]):
    """Base class of `StereotypeScore`, which declares the fields itself."""

    sentences: tuple[Sentence, ...]
    writing: Writing | None
    corpus: str | None

    def references(self) -> References:
        """List specifications that are not shipped, the corpus, and the sentences that an author is asked for."""
        corpus = None
        if self.corpus is not None:
            sentence_count, has_author = len(self.sentences), self.writing is not None
            corpus = NamedCorpus(
                self.corpus, "sentences", "sentences", sentence_count, MOST_PAIRS, may_be_empty=has_author
            )
        return References(corpus, words=self.named_words(), authored=self._authored())

    def with_references(self, found: Found) -> Self:
        """Return the method with the words and sentences found; reading thousands takes some tenths of a second."""
        method = self
        if found.corpus is not None:
            method = method._with_words_of(found.corpus).changed(corpus=found.corpus.reference)
            method = method.changed(sentences=(*method.sentences, *map(sentence_of, found.corpus.items)))
        method = method.with_words(found.words)
        if any(found.authored) and method.writing is not None:
            sentences = list(method.sentences)
            for words, items in zip(method.known_words, found.authored, strict=True):
                sentences += reusable(words, sentences, map(sentence_of, items), method.writing.per_term)
            method = method.changed(sentences=tuple(sentences[:MOST_PAIRS]))
        return method

    def authored_items(self, record: Sequence[Observation]) -> Sequence[Sequence[CorpusItem]]:
        """Return the usable sentences that an author wrote, for each specification."""
        return [written_items(record, words) for words in self.known_words]

    def _authored(self) -> tuple[AuthoredItems, ...]:
        if self.writing is None:
            return ()
        reuse = self.writing.reuse and self.corpus is None
        return tuple(
            AuthoredItems(
                "sentences", words.name, words.attribute, tuple(words.roles), words, self.specification, reuse
            )
            for words in self.words or ()
        )

    def _with_words_of(self, corpus: FoundCorpus) -> Self:
        """Return the method with the words of the corpus, unless the experiment has words of its own."""
        if corpus.words is None or self.named:
            return self
        if self.words != (shipped_words(StereotypeWords, None, self.attribute or "gender"),):
            return self
        return self.changed(words=(corpus.words,), attribute="", specification=corpus.specification)
