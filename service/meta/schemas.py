"""Schemas of health, version, limits and kinds of problems."""

from typing import Annotated, Self

from pydantic import Field

from service.http.openapi.common_schemas import ResponseModel
from service.http.problems import ProblemKind
from service.http.replica import ReplicaState
from service.ratings.schemas import Methodology


class InfoView(ResponseModel):
    """Version, methodology and features of this service."""

    name: str
    version: str
    methodology: Methodology
    keys_needed: bool
    """Whether requests need an API key."""
    methods: list[str]
    protocols: list[str]
    report_formats: list[str]
    documentation: str
    openapi: str


class RateView(ResponseModel):
    """Rate limit of new jobs."""

    limit: int
    window_s: int
    remaining: int
    reset_s: int


class ActiveView(ResponseModel):
    """Limit of queued and running jobs."""

    limit: int
    used: int


class StorageView(ResponseModel):
    """Limit of the bytes that you store, and the bytes of each kind."""

    limit: int
    used: int
    by_kind: dict[str, int]
    """Bytes by kind, such as `jobs`, `uploads` or `corpus_items`; the largest first."""


class LimitsView(ResponseModel):
    """Your limits, and how much of them is left."""

    new_jobs: RateView
    active_jobs: ActiveView
    storage_bytes: StorageView
    body_bytes: int
    upload_bytes: int
    page_rows: int
    wait_s: int
    deadline_s: int
    calls_a_job: int


class Health(ResponseModel):
    """State of the service."""

    status: str


class Readiness(Health):
    """Readiness of the service."""

    replica: ReplicaState | None = None
    """State of the database's replica; absent if there is none. If it is not `current`, the primary is read."""


class ProblemKindView(ResponseModel):
    """A kind of problem: `code` of problem documents, with its cause and its remedy."""

    code: Annotated[str, Field(examples=["rate-limited"])]
    status: int
    """Status of responses with this problem; for failed jobs, the status that a request with this problem would get."""
    title: str
    meaning: str
    remedy: str
    href: str

    @classmethod
    def of(cls, kind: ProblemKind) -> Self:
        """Build the view of a kind of problem."""
        return cls.from_row(kind, href=f"/problems/{kind.code}")


class ProblemKindList(ResponseModel):
    """All kinds of problems."""

    items: list[ProblemKindView]
