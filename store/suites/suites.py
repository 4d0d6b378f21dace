"""Suites: several ratings of one target in one request, and their progress.

Each cell of a suite is a job, either new or existing before. A suite stores no status: it has ended when all its
jobs have ended.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, insert, select

from assay.document import Json, JsonObject, RatingDocument, read_rating
from store.core.columns import new_id, now_ms
from store.core.rows import all_rows
from store.jobs.job import UNFINISHED, NewJob, joinable
from store.jobs.tables import jobs
from store.quota.tenant_rows import TenantRows
from store.ratings.tables import ratings
from store.suites.tables import suite_cells, suites


@dataclass(frozen=True)
class Cell:
    """A cell of a suite: one method and attribute; `label` distinguishes such cells, for example by language."""

    method: str
    attribute: str
    label: str


@dataclass(frozen=True)
class NewSuite:
    """Fields of a new suite.

    `target` has no secret. `request` has ``asked`` (the request as it was sent, without a secret), ``omitted``
    (combinations left out, each with its reason) and ``joined`` (jobs that existed before). `callback_url` is notified
    at the end of each job. `cells` are given with the ids of their jobs.
    """

    tenant: str
    target: Json
    request: Json
    callback_url: str | None
    visibility: str
    cells: Sequence[tuple[Cell, str]]
    id: str = field(default_factory=lambda: new_id("sui"))


@dataclass(frozen=True)
class StoredSuite:
    """A suite's row. `created_at` is in milliseconds since 1970."""

    id: str
    tenant: str
    target: JsonObject
    request: JsonObject
    callback_url: str | None
    visibility: str
    created_at: int


@dataclass(frozen=True)
class StoredCell:
    """A cell with its job and the main fields of its rating, if any. Times are milliseconds since 1970."""

    suite_id: str
    cell: Cell
    job_id: str
    status: str
    asked: int
    expected: int
    version: int
    error: JsonObject | None
    finished_at: int | None
    rating_id: str | None
    letter: str | None
    declared: bool | None
    rated_at: int | None
    expires_at: int | None
    withdrawn_at: int | None

    @property
    def finished(self) -> bool:
        """Whether the cell's job has ended, with or without success."""
        return self.status not in UNFINISHED


@dataclass(frozen=True)
class SuiteProgress:
    """Progress of a suite: cells by status, probes asked and expected, and the last end of a job (ms since 1970)."""

    by_status: Mapping[str, int]
    asked: int
    expected: int
    last_end: int | None

    @property
    def ended_at(self) -> int | None:
        """Time when the suite's last job ended, in milliseconds since 1970; ``None`` while a job is unfinished."""
        return None if any(self.by_status.get(status) for status in UNFINISHED) else self.last_end


@dataclass(frozen=True)
class ReusableWork:
    """Existing work for a request: its newest fresh rating and the newest job it can join (the twin), if any."""

    rating_id: str | None = None
    twin_id: str | None = None


ROWS = TenantRows(
    suites, lambda **row: StoredSuite(**{name: row[name] for name in row.keys() - {"target_url", "ended_at"}})
)
find, page = ROWS.find, ROWS.page


def add(c: Connection, new_suite: NewSuite) -> StoredSuite:
    """Add a suite whose jobs exist already; its cells are pairs (method and attribute, id of the job)."""
    values = {name: getattr(new_suite, name) for name in ("id", "tenant", "callback_url", "visibility")}
    values |= {"target": dict(new_suite.target), "request": dict(new_suite.request)}
    suite = ROWS.add(c, values | {"target_url": new_suite.target.get("base_url"), "created_at": now_ms()})
    entries = enumerate(new_suite.cells)
    rows = [{"suite_id": suite.id, "place": index, **vars(cell), "job_id": job_id} for index, (cell, job_id) in entries]
    c.execute(insert(suite_cells), rows)
    return suite


def cells(c: Connection, suite_id: str) -> list[StoredCell]:
    """List a suite's cells with their jobs and ratings, in the order of the request, in one query."""
    query = (
        select(
            *(suite_cells.c[name] for name in ("suite_id", "method", "attribute", "label", "job_id")),
            *(jobs.c[name] for name in ("status", "asked", "expected", "version", "error", "finished_at", "rating_id")),
            *(ratings.c[name] for name in ("letter", "declared", "expires_at", "withdrawn_at")),
            ratings.c.created_at.label("rated_at"),
        )
        .join(jobs, jobs.c.id == suite_cells.c.job_id)
        .outerjoin(ratings, ratings.c.id == jobs.c.rating_id)
        .where(suite_cells.c.suite_id == suite_id)
        .order_by(suite_cells.c.place)
    )
    return all_rows(
        c, query, lambda method, attribute, label, **row: StoredCell(cell=Cell(method, attribute, label), **row)
    )


def tallies(c: Connection, suite_ids: Collection[str]) -> dict[str, SuiteProgress]:
    """Compute the progress of several suites by id, in one query."""
    query = (
        select(
            suite_cells.c.suite_id,
            jobs.c.status,
            func.count().label("cells"),
            func.sum(jobs.c.asked).label("asked"),
            func.sum(jobs.c.expected).label("expected"),
            func.max(jobs.c.finished_at).label("last_end"),
        )
        .join(jobs, jobs.c.id == suite_cells.c.job_id)
        .where(suite_cells.c.suite_id.in_(suite_ids))
        .group_by(suite_cells.c.suite_id, jobs.c.status)
    )
    rows_by_suite: dict[str, list[Any]] = {}
    for row in c.execute(query):
        rows_by_suite.setdefault(row.suite_id, []).append(row)
    return {
        suite_id: SuiteProgress(
            by_status={row.status: row.cells for row in rows},
            asked=sum(int(row.asked) for row in rows),
            expected=sum(int(row.expected) for row in rows),
            last_end=max((row.last_end for row in rows if row.last_end is not None), default=None),
        )
        for suite_id, rows in rows_by_suite.items()
    }


def tally(cells: Sequence[StoredCell]) -> SuiteProgress:
    """Compute the progress of a suite from its cells."""
    return SuiteProgress(
        by_status=Counter(cell.status for cell in cells),
        asked=sum(cell.asked for cell in cells),
        expected=sum(cell.expected for cell in cells),
        last_end=max((cell.finished_at for cell in cells if cell.finished_at is not None), default=None),
    )


def rating_documents(c: Connection, rating_ids: Collection[str]) -> dict[str, RatingDocument]:
    """Read ratings by id, for callers that may read them; of their components (measured parts), only reasons stay."""
    if not rating_ids:
        return {}
    query = select(ratings.c.id, ratings.c.document).where(ratings.c.id.in_(rating_ids))
    documents = {row.id: row.document for row in c.execute(query)}
    for document in documents.values():
        document["components"] = [{"reasons": component.get("reasons")} for component in document.get("components", ())]
    return {rating_id: read_rating(document) for rating_id, document in documents.items()}


def reusable_work(c: Connection, job: NewJob, digests: Collection[str], max_age_s: int) -> dict[str, ReusableWork]:
    """Read, by request digest, a rating and a job to join (the twin), for requests that are otherwise like `job`."""
    rating_query = (
        select(ratings.c.request_digest, ratings.c.id)
        .where(ratings.c.tenant == job.tenant, ratings.c.request_digest.in_(digests), ratings.c.withdrawn_at.is_(None))
        .where(ratings.c.created_at >= now_ms() - max_age_s * 1000, ratings.c.expires_at > now_ms())
        .where(ratings.c.visibility == job.visibility)
        .order_by(ratings.c.created_at, ratings.c.id)
    )
    twin_query = (
        select(jobs.c.request_digest, jobs.c.id)
        .where(jobs.c.tenant == job.tenant, jobs.c.request_digest.in_(digests))
        .where(*joinable(job.visibility, job.callback_url))
        .order_by(jobs.c.created_at, jobs.c.id)
    )
    # both queries are ascending by time, so that newer rows replace older ones
    rating_ids = {row.request_digest: row.id for row in c.execute(rating_query)} if max_age_s > 0 else {}
    twin_ids = {row.request_digest: row.id for row in c.execute(twin_query)}
    return {digest: ReusableWork(rating_ids.get(digest), twin_ids.get(digest)) for digest in digests}
