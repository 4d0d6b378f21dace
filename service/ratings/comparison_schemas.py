"""Comparisons of two ratings."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from service.http.openapi.common_schemas import LetterName, Told


class ComparisonQuery(BaseModel):
    """What a rating is compared with."""

    model_config = ConfigDict(extra="forbid")

    other: Annotated[
        str, Field(alias="with", min_length=1, max_length=100, description="Id of the later rating, of the same words.")
    ]


class RangeView(Told):
    """Ends of an interval."""

    low: float
    high: float


class DifferenceView(Told):
    """What changed in one mean cosine distance: after less before."""

    name: str
    """A connection, `effect`, or a protected word."""
    before: float
    after: float
    mean: float
    hpdi: RangeView
    """Highest-density interval, of the mass that the comparison states."""
    p_after_greater: float
    """Probability that it grew."""


class ComparedRating(Told):
    """One of the two ratings."""

    id: str
    target: str
    letter: LetterName | None
    declared: bool
    rated_at: str
    evidence_digest: str
    missing: list[str]
    """Words that had no vector."""


class ComparisonFit(Told):
    """How both were fitted again."""

    residual: str
    prior: str
    draws: int


class ComparisonView(Told):
    """Two ratings by association of the same words, such as before and after debiasing."""

    method: str
    attribute: str
    before: ComparedRating
    after: ComparedRating
    fit: ComparisonFit
    pairs: int
    """Pairs of words whose distance both have; only these are compared."""
    pairs_left_out: int
    mass: float
    """Of the intervals."""
    connections: list[DifferenceView]
    """Mean distance to words that are `associated`, `different`, `human` and `neutral`."""
    effect: DifferenceView | None
    """`different` less `associated`: below zero, stereotypes are followed less than before."""
    words: list[DifferenceView]
    """The same effect for each protected word."""
