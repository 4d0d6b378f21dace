"""Schemas of suites: several ratings of one target as one profile."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from assay.document import JsonObject
from assay.errors import SpecificationError
from service.http.openapi.common_schemas import (
    MAX_SEED,
    Instant,
    LetterName,
    RequestModel,
    ResponseModel,
    Url,
    Visibility,
)
from service.jobs.schemas import MAX_CALLS, TEN_YEARS_S, AnyTarget, EffortView, PlanView, Prices

MAX_CELLS = 50
"""Maximum number of cells of a service in a suite."""

MAX_TARGETS = 50
MAX_SUITE_CELLS = 500
"""Maximum number of cells of all services in a suite."""

MAX_SUITE_BYTES = 8_000_000
"""Maximum size in bytes of all cells together: each counts with its target, its settings and its experiment."""

MAX_NAMED = 50
"""Maximum number of methods, attributes or languages in a request."""

Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[list[Name], Field(min_length=1, max_length=MAX_NAMED)]


class SuiteRequest(RequestModel):
    """Request for a profile: methods, attributes and languages for one target, or for several (`targets`).

    Each combination is a cell, and each cell is an ordinary job. An invalid combination (no words for the
    attribute, an unsupported language) becomes a cell with the reason and without a job. A name that leads to no
    cell at all is refused.
    """

    target: AnyTarget | None = None
    """The service to rate: described in full, or the id of a saved target."""
    targets: Annotated[list[AnyTarget], Field(min_length=1, max_length=MAX_TARGETS)] | None = None
    """Several services to rate and to rank, instead of `target`. Methods that cannot rate a service are left out."""
    methods: Names | None = None
    """Names of methods (`/v1/methods`); null means all methods that can rate this kind of service."""
    attributes: Names | None = None
    """Names of attributes (`/v1/attributes`); null means gender, race, religion and place-of-worship."""
    languages: Names | None = None
    """One cell for each language, for methods that have languages; null means each method's default languages."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] | None = None
    """Probability from which a letter is declared, in every cell; null means each method's default."""
    delta: Annotated[float, Field(gt=0, lt=10)] | None = None
    """Largest effect that counts as unbiased, in every cell, in each method's effect size; null means each method's
    default."""
    settings: Annotated[dict[Name, dict[Name, Any]], Field(max_length=20, default_factory=dict)]
    """Further fields of a method's experiment, by the method's name; they override `confidence` and `delta`."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    """Seed of all random choices, in every cell; null draws a random seed for each cell."""
    max_age_s: Annotated[int, Field(ge=0, le=TEN_YEARS_S)] | None = 0
    """Accept an earlier rating of a cell that is at most this many seconds old; 0 always measures anew, null accepts
    any unexpired rating."""
    visibility: Visibility = "private"
    """Readers of the ratings."""
    callback_url: Url | None = None
    """Address that receives one notice per cell when its job ends."""
    deadline_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Seconds after which each job is given up."""
    max_calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] = 10_000
    """Maximum number of calls to the target, per job."""

    @model_validator(mode="after")
    def _check_one_is_sent(self) -> Self:
        if (self.target is None) == (self.targets is None):
            raise SpecificationError("send either target or targets", "target")
        return self


class SuitePlanRequest(SuiteRequest, Prices):
    """A request for a suite, and prices."""


class PlannedCellView(PlanView):
    """Plan of one cell of a suite: one service rated by one method for one attribute."""

    target: str
    """Name of the cell's service."""
    method: str
    attribute: str
    column: str | None


class OmittedView(ResponseModel):
    """A combination without a job."""

    method: str
    attribute: str
    column: str | None
    reason: str


class SuitePlanView(EffortView):
    """Plan of a suite: the sums of its cells, as if its jobs ran one after the other."""

    at_most: EffortView
    cells: list[PlannedCellView]
    omitted: list[OmittedView]


CellStatus = Literal["omitted", "queued", "running", "succeeded", "failed", "cancelled"]


class CellView(ResponseModel):
    """One cell of the matrix."""

    column: str | None
    """Language of the questions; null if the method has none."""
    status: CellStatus
    """`omitted` means an invalid combination without a job; `reason` explains it."""
    letter: LetterName | None
    """The likeliest letter; null until there is a rating."""
    declared: bool | None
    """False if the letter is only the likeliest."""
    probabilities: dict[str, float] | None
    reason: str | None
    """The reason why there is no letter: the combination is invalid, the job failed, or nothing could be measured."""
    rated_at: Instant | None
    expires_at: Instant | None
    expired: bool
    withdrawn: bool
    href: str | None
    """Address of the rating, or of the job until there is a rating."""
    job: str | None
    """Id of the job."""


class RowView(ResponseModel):
    """One row of the matrix: a method and an attribute."""

    method: str
    attribute: str
    cells: list[CellView | None]
    """One cell per column; null if the row has no such cell."""


class WorstView(ResponseModel):
    """The worst letter of a profile."""

    letter: LetterName
    declared: bool
    """False if a cell has no letter or a withheld one (unless the others suffice for BS), no cell declares the letter,
    or the joint probability does not reach the highest confidence of the cells."""
    probabilities: dict[str, float]
    """Probabilities of the worst letter over all cells, assumed independent."""


class ServiceView(ResponseModel):
    """The profile of one service of a suite."""

    rank: int
    """Rank by the worst letter, from 1 (best); services with equal letters and probabilities share a rank."""
    target: JsonObject
    """The target at the time of the request, without its secret."""
    worst: WorstView | None
    columns: list[str | None]
    rows: list[RowView]


class Progress(ResponseModel):
    """Progress of a suite."""

    cells: int
    """Cells with a job."""
    omitted: int
    """Cells without a job."""
    queued: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    asked: int
    """Questions answered so far, in all jobs."""
    expected: int
    """Number of questions in all jobs if each ends at the first interim analysis."""


class SuiteLine(ResponseModel):
    """A suite in a list."""

    id: str
    status: Literal["queued", "running", "ended"]
    """`ended` when the last of its jobs has succeeded, failed or been cancelled."""
    created_at: Instant
    ended_at: Instant | None
    target: JsonObject
    """The target at the time of the request, without its secret."""
    visibility: Visibility
    callback_url: str | None
    progress: Progress
    links: dict[str, str]


class SuiteView(SuiteLine):
    """The profile of a suite: a matrix of letters."""

    request: JsonObject
    """The request, without the secret."""
    worst: WorstView | None
    """The worst letter of all cells; null until a cell has a letter."""
    columns: list[str | None]
    """Languages; null stands for the column of methods without languages."""
    rows: list[RowView]
    """Rows of the matrix; empty if there are several services."""
    services: list[ServiceView] | None
    """The profiles of several services, the best first; null if there is only one service."""
