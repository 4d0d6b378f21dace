"""Publishing, withdrawing, and what the public ratings say together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from assay.errors import SpecificationError
from assay.rating.difference import Difference
from service.http.openapi.common_schemas import Asked, Instant, KindName, LetterName, Told, Visibility
from service.http.pagination import PageQuery
from service.ratings.schemas import Methodology, WithdrawnView
from store.ratings.history import Step
from store.ratings.rating_statistics import LetterCount

LetterVerdict = Literal["same", "changed", "undecided"]

HISTORY_ROWS = 50
"""Most ratings on a page of history: each is read whole, with the one before it."""


# ---------------------------------------------------------------------------- publishing
class VisibilityRequest(Asked):
    """Who shall see a rating."""

    visibility: Visibility
    """`private`: you. `unlisted`: whoever knows its address. `public`: everyone, and it is logged; from there it can
    not be hidden again, only withdrawn."""


def _said(reason: str) -> str:
    """Refuse a reason that says nothing; a pattern would mean other blanks to other readers of the schema."""
    if not reason.strip():
        raise SpecificationError("the reason is blank; write what readers of the rating should know")
    return reason


class WithdrawalRequest(Asked):
    """Why a rating no longer stands."""

    reason: Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_said)]
    """Shown beside the rating for good. Of a public rating it goes into the log, which everyone can read."""


# ---------------------------------------------------------------------------- differences
class DifferenceQuery(BaseModel):
    """What a rating is held against."""

    model_config = ConfigDict(extra="forbid")

    other: Annotated[
        str,
        Field(alias="with", min_length=1, max_length=100, description="Id of the later rating, by the same method."),
    ]


class FaceView(Told):
    """One of the two ratings."""

    id: str | None
    letter: LetterName | None
    declared: bool | None
    rated_at: Instant | None
    target: str | None


class LetterDifferenceView(Told):
    """Two letters held against each other."""

    name: str | None
    """The component; null for the rating as a whole."""
    before: LetterName | None
    after: LetterName | None
    probability: float | None
    """Probability that the letters differ, by both posteriors; null where one has none."""
    verdict: LetterVerdict
    """`changed` only where that probability reaches `confidence`; `undecided` where two letters may be noise."""


class EstimateView(Told):
    """An estimate and its interval."""

    estimate: float
    low: float
    high: float


class EffectDifferenceView(Told):
    """One effect of one component, before and after, in the method's own effect size."""

    component: str
    name: str
    before: EstimateView
    after: EstimateView
    moved: float
    """Estimate after less estimate before."""
    apart: bool
    """Whether the intervals do not overlap."""


class InputDifferenceView(Told):
    """One input that was not the same."""

    what: Literal["target", "experiment", "methodology", "engine", "seed"]
    place: str
    """Dotted where nested; empty where the input is one value."""
    before: Any
    after: Any


class RatingDifferenceView(Told):
    """What changed between two ratings, and whether the letter did."""

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
    """Whether both were read off the same replies."""
    sentences: list[str]


# ---------------------------------------------------------------------------- history
class HistoryQuery(PageQuery):
    """What a saved target's history is narrowed to."""

    limit: Annotated[int, Field(ge=1, le=HISTORY_ROWS, description=f"Ratings a page, 1 to {HISTORY_ROWS}.")] = 20
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None


class AddressHistoryQuery(HistoryQuery):
    """Whose history, and what it is narrowed to."""

    target_url: Annotated[str, Field(min_length=1, max_length=2048, description="The target's address, exactly.")]


class SinceView(Told):
    """What is different since the rating before it, of the same method and attribute."""

    id: str
    """The rating before."""
    letter: LetterName | None
    """Its letter."""
    verdict: LetterVerdict
    probability: float | None
    changed: bool
    inputs: list[str]
    """Kinds of input that were not the same: `target`, `experiment`, `methodology`, `engine`, `seed`."""
    sentences: list[str]

    @classmethod
    def of(cls, found: Difference) -> Self:
        """Shorten a difference to what a timeline needs."""
        return cls(
            id=str(found.before["id"]),
            letter=found.letter.before,
            verdict=found.letter.verdict,
            probability=found.letter.probability,
            changed=found.changed,
            inputs=list(dict.fromkeys(each.what for each in found.inputs)),
            sentences=list(found.sentences),
        )


class HistoryEntry(Told):
    """One rating of a timeline."""

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
    since: SinceView | None
    """Null for the first rating, and for one that was withdrawn."""

    @classmethod
    def of(cls, step: Step, since: Difference | None) -> Self:
        """Show a step of the timeline."""
        rating = step.rating
        shown = {name: value for name, value in rating.shown.items() if name in cls.model_fields}
        told = {"href": f"/v1/ratings/{rating.id}", "since": None if since is None else SinceView.of(since)}
        return cls.model_validate(shown | told)


class HistoryList(Told):
    """One page of a timeline, newest first."""

    items: list[HistoryEntry]
    next_cursor: str | None


# ---------------------------------------------------------------------------- all public ratings
class DistributionQuery(BaseModel):
    """What is counted."""

    model_config = ConfigDict(extra="forbid")

    kind: KindName | None = None
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None


class Counts(Told):
    """Targets by letter."""

    UCS: int = 0
    DSBS: int = 0
    BS: int = 0
    inconclusive: int = 0
    """No letter was declared."""


class DistributionRow(Told):
    """The letters of one kind of service, by one method for one attribute."""

    kind: str
    attribute: str
    method: str
    targets: int
    counts: Counts


class DistributionView(Told):
    """How many targets have which letter, by the newest public rating of each that stands."""

    items: list[DistributionRow]

    @classmethod
    def of(cls, tallies: Sequence[LetterCount]) -> Self:
        """Gather counts that come sorted."""
        rows = []
        for about, group in groupby(tallies, lambda one: (one.kind, one.attribute, one.method)):
            counts = {one.letter: one.count for one in group}
            kind, attribute, method = about
            row = {"kind": kind, "attribute": attribute, "method": method, "targets": sum(counts.values())}
            rows.append(DistributionRow(**row, counts=Counts(**counts)))
        return cls(items=rows)
