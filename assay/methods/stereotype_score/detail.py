"""Types of stereotype-score's own part of a rating document."""

from __future__ import annotations

from dataclasses import dataclass

from assay.methods.shared.detail import NO_SOURCE, CaseDocument, Source, TermsComponent


@dataclass(frozen=True)
class GroupPair:
    """Scores of a pair of group terms."""

    first: str | None = None
    second: str | None = None
    neutral: float | None = None
    stereotyped: float | None = None
    pairs: float | None = None


@dataclass(frozen=True)
class StereotypeComponent(TermsComponent):
    """A list of terms, scored by pairs of sentences."""

    pairs_asked: int | None = None
    sentences: tuple[CaseDocument, ...] = ()
    group_pairs: tuple[GroupPair, ...] = ()
    writing: Source = NO_SOURCE
