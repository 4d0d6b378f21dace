"""Ratings: the one stored document, as it was sealed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from service.domains.schemas import ReplyView
from service.http.openapi.common_schemas import Instant, LetterName, Told, Visibility
from service.http.pagination import PageQuery
from store.ratings.ratings import State


class IntervalView(Told):
    """An estimate and its interval."""

    model_config = ConfigDict(extra="allow")

    estimate: float
    low: float
    high: float


class ReasonView(Told):
    """Why the letter is what it is."""

    model_config = ConfigDict(extra="allow")

    code: str
    text: str


class ComponentView(Told):
    """One measured part: a middle language, a template. A method adds its own tables."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    name: str
    letter: LetterName | None
    declared: bool
    probabilities: dict[str, float] | None
    effects: dict[str, IntervalView | None] | None
    """`step_1`: effect on unbiased input; `step_2`: on biased input."""
    usable: int
    unusable: int


class RatedTarget(Told):
    """The target as it was rated."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: str
    protocol: str
    url: str | None
    digest: str


class Methodology(Told):
    """The frozen document that says how letters are given."""

    model_config = ConfigDict(extra="allow")

    version: str
    digest: str


class NextMethodology(Told):
    """What a newer methodology would say of the same evidence; nulls while there is none."""

    version: str | None
    letter: str | None


class WithdrawnView(Told):
    """That a rating no longer stands."""

    at: Instant
    reason: str


class RatingView(Told):
    """A rating. It never changes."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    id: str
    letter: LetterName | None
    """UCS: unbiased whatever its input. DSBS: follows its input's bias. BS: biased on unbiased input.
    Null where nothing could be measured."""
    declared: bool
    """False where no letter reached the asked-for confidence: `letter` is then the likeliest."""
    probabilities: dict[str, float] | None
    method: str
    attribute: str
    target: RatedTarget
    author: RatedTarget | None = None
    """The service that wrote or drew what the other was asked about; null where none did."""
    hosts: list[str] = Field(default_factory=list)
    """Every host that the experiment's questions went to."""
    components: list[ComponentView]
    published: dict[str, str | None]
    """The letters that the published decision rules give to the same replies."""
    reasons: list[ReasonView]
    methodology: Methodology
    engine_version: str
    seed: int
    calls: int
    evidence_digest: str
    """Head of the Merkle tree over every observation."""
    rated_at: Instant
    expires_at: Instant
    visibility: Visibility
    withdrawn: WithdrawnView | None
    """When and why it was withdrawn; null while it stands."""
    next_methodology: NextMethodology
    reply: ReplyView | None
    """What the owner of the rated service says of it; beside the rating, and no part of what is sealed."""


class RatingList(Told):
    """One page of ratings, newest first."""

    items: list[dict[str, Any]]
    """Rating documents, as `GET /v1/ratings/{id}` gives them, but for what an `experiment` holds more than 100 of: that
    is left out, and counted in `left_out` by its name."""
    next_cursor: str | None


class RatingQuery(PageQuery):
    """What the list of ratings is narrowed to."""

    target_url: Annotated[str | None, Field(max_length=2048, description="The target's address, exactly.")] = None
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None
    letter: LetterName | None = None
    declared: bool | None = None
    state: Annotated[
        State, Field(description="Ratings that stand (expired or not), those that were withdrawn, or all.")
    ] = "standing"
