"""Schemas of publication, withdrawal and differences of ratings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from assay.errors import SpecificationError
from service.http.openapi.common_schemas import (
    Instant,
    LetterName,
    QueryModel,
    RequestModel,
    ResponseModel,
    Visibility,
)

LetterVerdict = Literal["same", "changed", "undecided"]


# ---------------------------------------------------------------------------- publishing
class VisibilityRequest(RequestModel):
    """Request to change the visibility of a rating."""

    visibility: Visibility
    """`private`: only you. `unlisted`: everyone with its address. `public`: everyone, and it is logged; a public rating
    cannot be hidden again, only withdrawn."""


def _not_blank(reason: str) -> str:
    """Refuse a blank reason; not by a pattern, because dialects of regular expressions disagree about blanks."""
    if not reason.strip():
        raise SpecificationError("the reason is blank; write what readers of the rating should know")
    return reason


class WithdrawalRequest(RequestModel):
    """Request to withdraw a rating."""

    reason: Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_not_blank)]
    """Shown with the rating permanently. For a public rating it is added to the log, which everyone can read."""


# ---------------------------------------------------------------------------- differences
class DifferenceQuery(QueryModel):
    """Query parameters of a difference."""

    other: Annotated[
        str,
        Field(alias="with", min_length=1, max_length=100, description="Id of the later rating, by the same method."),
    ]


class FaceView(ResponseModel):
    """One of two compared ratings."""

    id: str | None
    letter: LetterName | None
    declared: bool | None
    rated_at: Instant | None
    target: str | None


class LetterDifferenceView(ResponseModel):
    """Comparison of two letters."""

    name: str | None
    """Name of the component; null for the whole rating."""
    before: LetterName | None
    after: LetterName | None
    probability: float | None
    """Probability that the letters differ, from both posteriors; null if a posterior is missing."""
    verdict: LetterVerdict
    """`changed` only if `probability` reaches `confidence`; `undecided` if the difference may be noise."""


class EstimateView(ResponseModel):
    """An estimate and its interval."""

    estimate: float
    low: float
    high: float


class EffectDifferenceView(ResponseModel):
    """One effect of one component, before and after, in the method's own effect size."""

    component: str
    name: str
    before: EstimateView
    after: EstimateView
    moved: float
    """Estimate after minus estimate before."""
    apart: bool
    """Whether the intervals do not overlap."""


class InputDifferenceView(ResponseModel):
    """One input that differs between two ratings."""

    what: Literal["target", "experiment", "methodology", "engine", "seed"]
    place: str
    """Path of the field, with dots; empty if the input is a single value."""
    before: Any
    after: Any


class RatingDifferenceView(ResponseModel):
    """Changes from one rating to another, and whether the letter changed."""

    before: FaceView
    after: FaceView
    changed: bool
    """Whether the letter changed with confidence."""
    confidence: float
    letter: LetterDifferenceView
    components: list[LetterDifferenceView]
    only_before: list[str]
    only_after: list[str]
    effects: list[EffectDifferenceView]
    inputs: list[InputDifferenceView]
    same_evidence: bool
    """Whether both ratings have the same replies."""
    sentences: list[str]
