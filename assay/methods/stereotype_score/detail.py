"""Types of stereotype-score's own part of a rating document."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import NO_ENTRIES, NO_ITEMS, always
from assay.methods.shared.detail import NO_SOURCE, CaseDocument, Source, TermsComponent


@dataclass(frozen=True)
class SentencePair(CaseDocument):
    """A pair of sentences with their scores, and the number of words that were scored."""

    second_score: float | None = always(None)
    words: int | None = always(None)


@dataclass(frozen=True)
class GroupPair:
    """Shares of pairs with one pair of group terms that prefer the first group (`neutral`) or the stereotype."""

    first: str | None = None
    second: str | None = None
    neutral: float | None = always(None)
    stereotyped: float | None = always(None)
    pairs: float | None = None


@dataclass(frozen=True)
class ScoringDocument:
    """The way of asking that was requested, the one that was used, and those that the service refused."""

    rung: str | None = always(None)
    asked: str | None = None
    refused: Mapping[str, str] = NO_ENTRIES


@dataclass(frozen=True)
class StereotypeComponent(TermsComponent):
    """A list of terms, scored by pairs of sentences."""

    pairs_asked: int | None = None
    pairs_compared: int | None = None
    scoring: ScoringDocument | None = None
    sentences: tuple[SentencePair, ...] = NO_ITEMS
    group_pairs: tuple[GroupPair, ...] = NO_ITEMS
    writing: Source = NO_SOURCE
