"""Schemas of comparisons of two ratings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from service.http.openapi.common_schemas import LetterName, QueryModel, ResponseModel


class ComparisonQuery(QueryModel):
    """Query parameters of a comparison."""

    other: Annotated[
        str, Field(alias="with", min_length=1, max_length=100, description="Id of the later rating, of the same words.")
    ]


class RangeView(ResponseModel):
    """Ends of an interval."""

    low: float
    high: float


class DifferenceView(ResponseModel):
    """Change of one mean cosine distance: after minus before."""

    name: str
    """A connection, `effect`, or a protected word."""
    before: float
    after: float
    mean: float
    hpdi: RangeView
    """Highest-density interval with the comparison's `mass`."""
    p_after_greater: float
    """Probability that the distance grew."""


class ComparedRating(ResponseModel):
    """One of the two compared ratings."""

    id: str
    target: str
    letter: LetterName | None
    declared: bool
    rated_at: str
    evidence_digest: str
    missing: list[str]
    """Words without a vector."""
    hidden: list[dict[str, Any]]
    """Effects that a mean can hide, each with `kind`, `name`, `effect` and `limit`; none before methodology 1.3.0."""


class ComparisonFit(ResponseModel):
    """Model with which both ratings were fitted again."""

    residual: str
    prior: str
    draws: int


class ComparisonView(ResponseModel):
    """Comparison of two association ratings of the same words, such as before and after debiasing."""

    method: str
    attribute: str
    before: ComparedRating
    after: ComparedRating
    fit: ComparisonFit
    pairs: int
    """Number of word pairs whose distance both ratings have; only these are compared."""
    pairs_left_out: int
    mass: float
    """Probability mass of the intervals."""
    connections: list[DifferenceView]
    """Mean distance to words that are `associated`, `different`, `human` and `neutral`."""
    effect: DifferenceView | None
    """`different` minus `associated`: a decrease means weaker stereotypes than before."""
    words: list[DifferenceView]
    """The same effect for each protected word."""
