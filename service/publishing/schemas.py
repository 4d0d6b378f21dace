"""Schemas of publication, withdrawal, differences, history and counts of ratings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from assay.errors import SpecificationError
from assay.rating.difference import Difference
from service.http.openapi.common_schemas import (
    Instant,
    KindName,
    LetterName,
    ListModel,
    QueryModel,
    RequestModel,
    ResponseModel,
    Visibility,
)
from service.http.pagination import PageQuery
from service.ratings.schemas import Methodology, RequesterView, WithdrawnView
from store.ratings.history import Step
from store.ratings.rating_statistics import LetterCount
from store.ratings.standing import Whose

LetterVerdict = Literal["same", "changed", "undecided"]

HISTORY_ROWS = 50
"""Maximum number of ratings per page of a history; each is read in full, with the previous rating."""


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


# ---------------------------------------------------------------------------- history
class HistoryQuery(PageQuery):
    """Filters of a target's history."""

    limit: Annotated[int, Field(ge=1, le=HISTORY_ROWS, description=f"Ratings per page, 1 to {HISTORY_ROWS}.")] = 20
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None


ModelName = Annotated[
    str | None, Field(max_length=500, description="Model, deployment or endpoint, where the address has several.")
]


class AddressHistoryQuery(HistoryQuery):
    """Query parameters of the history of an address."""

    target_url: Annotated[str, Field(min_length=1, max_length=2048, description="The target's address.")]
    whose: Annotated[
        Whose,
        Field(
            description="`address`: the ratings that stand for the address; those of its proved owner, else those of "
            "the agency's operator, else those of others with the default description. "
            "`mine`: your own. `all`: all that you can read."
        ),
    ] = "address"
    model: ModelName = None


class SinceView(ResponseModel):
    """Changes since the same requester's previous rating with the same method and attribute."""

    id: str
    """Id of the previous rating."""
    letter: LetterName | None
    """Letter of the previous rating."""
    verdict: LetterVerdict
    probability: float | None
    changed: bool
    inputs: list[str]
    """Kinds of input that differ: `target`, `experiment`, `methodology`, `engine`, `seed`."""
    sentences: list[str]

    @classmethod
    def of(cls, difference: Difference) -> Self:
        """Build the view from a difference."""
        return cls.from_row(
            difference,
            id=str(difference.before["id"]),
            letter=difference.letter.before,
            verdict=difference.letter.verdict,
            probability=difference.letter.probability,
            inputs=list(dict.fromkeys(input_difference.what for input_difference in difference.inputs)),
        )


class HistoryEntry(ResponseModel):
    """One rating of a history."""

    id: str
    href: str
    method: str
    attribute: str
    letter: LetterName | None
    declared: bool
    probabilities: dict[str, float] | None
    methodology: Methodology
    rated_at: Instant
    expires_at: Instant
    visibility: Visibility
    withdrawn: WithdrawnView | None
    requester: RequesterView | None = None
    """Null for ratings of versions that did not record it."""
    since: SinceView | None
    """Changes since the previous rating; null for the first rating and for a withdrawn rating."""

    @classmethod
    def of(cls, step: Step, since: Difference | None) -> Self:
        """Build the view of one step of a history."""
        rating = step.rating
        fields = {name: value for name, value in rating.shown.items() if name in cls.model_fields}
        added = {"href": f"/v1/ratings/{rating.id}", "since": None if since is None else SinceView.of(since)}
        return cls.model_validate(fields | added)


class HistoryList(ListModel[HistoryEntry]):
    """One page of a history, newest first."""


# ---------------------------------------------------------------------------- all public ratings
class DistributionQuery(QueryModel):
    """Filters of the counts."""

    kind: KindName | None = None
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None
    model: ModelName = None


class Counts(ResponseModel):
    """Number of targets by letter."""

    UCS: int = 0
    DSBS: int = 0
    BS: int = 0
    inconclusive: int = 0
    """Targets without a declared letter."""


class DistributionRow(ResponseModel):
    """Counts of one kind of service, for one method and one attribute."""

    kind: str
    attribute: str
    method: str
    targets: int
    counts: Counts


class DistributionView(ResponseModel):
    """Number of targets by letter of their newest valid public rating."""

    items: list[DistributionRow]

    @classmethod
    def of(cls, tallies: Sequence[LetterCount]) -> Self:
        """Build the view from sorted counts."""
        rows = []
        for series, group in groupby(tallies, lambda tally: (tally.kind, tally.attribute, tally.method)):
            counts = {tally.letter: tally.count for tally in group}
            kind, attribute, method = series
            row = {"kind": kind, "attribute": attribute, "method": method, "targets": sum(counts.values())}
            rows.append(DistributionRow(**row, counts=Counts(**counts)))
        return cls(items=rows)
