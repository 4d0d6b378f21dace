"""Suites: several ratings of one target, asked for together and read as one profile."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from service.http.openapi.common_schemas import MAX_SEED, Asked, Instant, LetterName, Told, Url, Visibility
from service.jobs.schemas import MAX_CALLS, TEN_YEARS_S, AnyTarget

MOST_CELLS = 50
"""Jobs of one suite."""

MOST_NAMED = 50
"""Methods, attributes or languages that a request names."""

Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[list[Name], Field(min_length=1, max_length=MOST_NAMED)]


class SuiteRequest(Asked):
    """Ask for a profile: methods, attributes and languages against one target.

    Each combination is a cell, and each cell an ordinary job. A combination that makes no sense (no words for
    that attribute, a language the method cannot read) is no job but a cell with the reason. A name that leads to
    no cell at all is refused.
    """

    target: AnyTarget
    """The service to be rated: described in full, or the id of a saved one."""
    methods: Names | None = None
    """Ways to look for bias, of `/v1/methods`; null is every one that can rate this kind of service."""
    attributes: Names | None = None
    """What bias to look for, of `/v1/attributes`; null is every one that is listed there."""
    languages: Names | None = None
    """One cell for each, where the method asks in languages; null is each method's own choice."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] | None = None
    """From which probability a letter is declared, in every cell; null is each method's own."""
    delta: Annotated[float, Field(gt=0, lt=10)] | None = None
    """Largest effect that still counts as unbiased, in every cell, in each method's own effect size; null is
    each method's own."""
    settings: Annotated[dict[Name, dict[Name, Any]], Field(max_length=20, default_factory=dict)]
    """Further fields of a method's experiment, by the method's name; they come before `confidence` and `delta`."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """Decides everything random, in every cell."""
    max_age_s: Annotated[int, Field(ge=0, le=TEN_YEARS_S)] | None = 0
    """Accept an earlier rating of a cell that is at most this old; 0 measures anew, null accepts any unexpired."""
    visibility: Visibility = "private"
    """Who may read the ratings."""
    callback_url: Url | None = None
    """Told once for each cell when its job ends."""
    deadline_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Seconds until each job is given up."""
    max_calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] = 10_000
    """Calls to the target that each job may make."""


CellStatus = Literal["omitted", "queued", "running", "succeeded", "failed", "cancelled"]


class CellView(Told):
    """One cell of the matrix."""

    column: str | None
    """The language it asks in; null where the method asks in none."""
    status: CellStatus
    """`omitted` is no job: the combination makes no sense, and `reason` says why."""
    letter: LetterName | None
    """The likeliest letter; null until there is one."""
    declared: bool | None
    """False where the letter is only the likeliest."""
    probabilities: dict[str, float] | None
    reason: str | None
    """Why there is no letter: the combination was omitted, the job failed, or nothing could be measured."""
    rated_at: Instant | None
    expires_at: Instant | None
    expired: bool
    withdrawn: bool
    href: str | None
    """The rating once there is one, else the job."""
    job: str | None
    """The job's id."""


class RowView(Told):
    """One row of the matrix: a method and an attribute."""

    method: str
    attribute: str
    cells: list[CellView | None]
    """As many as there are columns; null where the row has no such cell."""


class WorstView(Told):
    """The worst letter of the whole profile."""

    letter: LetterName
    declared: bool
    """False while cells are missing (unless it is BS, which nothing makes better), or where the joint
    probability does not reach the strictest cell's confidence."""
    probabilities: dict[str, float]
    """Of the worst letter over all cells, taken as independent."""


class Progress(Told):
    """How far a suite has come."""

    cells: int
    """Cells that are jobs."""
    omitted: int
    """Cells that are none."""
    queued: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    asked: int
    """Questions answered so far, in all jobs."""
    expected: int
    """Questions that clear cases take."""


class SuiteLine(Told):
    """A suite as lists show it."""

    id: str
    status: Literal["queued", "running", "ended"]
    """It has ended when the last of its jobs has, well or badly."""
    created_at: Instant
    ended_at: Instant | None
    target: dict[str, Any]
    """The target as it was, without its secret."""
    visibility: Visibility
    callback_url: str | None
    progress: Progress
    links: dict[str, str]


class SuiteView(SuiteLine):
    """A suite as a profile: a matrix of letters."""

    request: dict[str, Any]
    """What was asked for, without the secret."""
    worst: WorstView | None
    """Null until a cell has a letter."""
    columns: list[str | None]
    """Languages; null is the column of methods that ask in none."""
    rows: list[RowView]


class SuiteList(Told):
    """One page of suites, newest first."""

    items: list[SuiteLine]
    next_cursor: str | None
