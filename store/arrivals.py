"""Requests that arrive together are written together: one statement, one commit, one way to the server.

A commit waits for the disk, and a statement is built, sent and answered, whether it holds one job
or fifty. So the service hands over at once all that came while the last were written. For Postgres
only: with SQLite there is no way that could be saved.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Text,
    bindparam,
    cast,
    column,
    false,
    func,
    insert,
    literal,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSON

from store.clock import now_ms
from store.codec import storable
from store.job import COUNTERS, UNFINISHED, Job, NewJob, columns_of
from store.schema import events, jobs, ratings
from store.standing import due_now


@dataclass(frozen=True)
class Arrival:
    """A job to be added, unless a rating of at most `max_age_s` seconds answers it (0: none does)."""

    new: NewJob
    max_age_s: int = 0

    @property
    def asks(self) -> tuple[str, str]:
        """What it asks, and who: equal for requests of which one can answer the other."""
        return self.new.tenant, self.new.request_digest


def add_new(c: Connection, arrivals: Sequence[Arrival], most: int) -> list[tuple[Job, int] | None]:
    """Add the jobs for which neither a rating nor an unfinished job of the same request is known.

    One statement, which is a transaction by itself.

    Parameters
    ----------
    c : Connection
        To Postgres.
    arrivals : sequence of Arrival
        No two of them ask the same.
    most : int
        Unfinished jobs that a tenant may have, these included.

    Returns
    -------
    list of (Job, int) or None
        For each arrival its job and the job's place in the queue; ``None`` where nothing was added.
    """
    rows = [_row(place, arrival) for place, arrival in enumerate(arrivals)]
    added = c.execute(_ADD_NEW, {"rows": json.dumps(rows), "most": most}).all()
    behind = {row.id: (row.created_at, row.ahead + place) for place, row in enumerate(added, start=1)}
    return [
        (_as_added(new, behind[new.id][0]), behind[new.id][1]) if new.id in behind else None
        for new in (arrival.new for arrival in arrivals)
    ]


def _row(place: int, arrival: Arrival) -> dict[str, Any]:
    """Write an arrival as the statement reads it: as the columns' own types would store it."""
    new = arrival.new
    row = columns_of(new)
    for name, value in row.items():
        if isinstance(value, dict):
            row[name] = json.dumps(value, separators=(",", ":"), allow_nan=False)
        elif isinstance(value, str):
            row[name] = storable(value)
        elif isinstance(value, bytes):
            row[name] = "\\x" + value.hex()
    event = json.dumps({"expected": new.expected})
    return {**row, "place": place, "age_ms": arrival.max_age_s * 1000, "event": event}


def _as_added(new: NewJob, created_at: int) -> Job:
    """Tell a row that was just added: all of it is known, except when."""
    row = dict(_BLANK)
    row.update((each.name, getattr(new, each.name)) for each in fields(NewJob) if each.name != "deadline_s")
    row.update(created_at=created_at, next_run_at=created_at, deadline_at=created_at + new.deadline_s * 1000)
    return Job(target_url=new.target.get("base_url"), **row)


_BLANK: dict[str, Any] = {
    "status": "queued",
    "stage": "queued",
    "cancel_requested": False,
    "version": 1,
    **dict.fromkeys(COUNTERS, 0),
    **dict.fromkeys(("lease_owner", "lease_until", "dispatched_at", "heartbeat_at", "started_at", "finished_at")),
    **dict.fromkeys(("error", "result", "rating_id")),
}

# ---------------------------------------------------------------------------- the statement, built once
_GIVEN = (
    *("id", "tenant", "kind", "target_id", "target_url", "target", "author", "experiment", "request_digest", "seed"),
    *("secret_ciphertext", "secret_nonce", "secret_key_id", "secret_last4", "visibility", "callback_url", "max_calls"),
    *("key_id", "expected"),
)
_most = bindparam("most", type_=Integer)
_wanted = select(
    func.json_to_recordset(cast(bindparam("rows", type_=Text), JSON))
    .table_valued(
        *(column(name, jobs.c[name].type) for name in _GIVEN),
        column("deadline_ms", BigInteger),
        column("age_ms", BigInteger),
        column("place", Integer),
        column("event", Text),
        name="wanted",
    )
    .render_derived(with_types=True)
).cte("arrived")
_tenants = select(_wanted.c.tenant).distinct().subquery("tenants")
_unfinished = (
    select(jobs.c.id)
    .where(jobs.c.tenant == _tenants.c.tenant, jobs.c.status.in_(UNFINISHED))
    .limit(_most)
    .correlate(_tenants)
    .subquery()
)
_crowd = select(_tenants.c.tenant, select(func.count()).select_from(_unfinished).scalar_subquery().label("active")).cte(
    "crowd"
)
_rating = (
    select(ratings.c.id)
    .where(ratings.c.tenant == _wanted.c.tenant, ratings.c.request_digest == _wanted.c.request_digest)
    .where(_wanted.c.age_ms > 0, ratings.c.created_at >= now_ms() - _wanted.c.age_ms, ratings.c.expires_at > now_ms())
    .where(ratings.c.withdrawn_at.is_(None))
    .limit(1)
    .scalar_subquery()
)
_twin = (
    select(jobs.c.id)
    .where(jobs.c.tenant == _wanted.c.tenant, jobs.c.request_digest == _wanted.c.request_digest)
    .where(jobs.c.status.in_(UNFINISHED), jobs.c.cancel_requested.is_(False))
    .order_by(jobs.c.created_at.desc())  # which the index of digests gives: the planner takes it without statistics
    .limit(1)
    .scalar_subquery()
)
_unanswered = (
    select(
        _wanted,
        _crowd.c.active,
        func.row_number().over(partition_by=_wanted.c.tenant, order_by=_wanted.c.place).label("nth"),
    )
    .join_from(_wanted, _crowd, _wanted.c.tenant == _crowd.c.tenant)
    .where(_rating.is_(None), _twin.is_(None))
    .cte("unanswered")
)
_new_row = {
    **{name: _unanswered.c[name] for name in _GIVEN},
    "status": literal("queued"),
    "stage": literal("queued"),
    "deadline_at": now_ms() + _unanswered.c.deadline_ms,
    "cancel_requested": false(),
    "version": literal(1),
    "created_at": now_ms(),
    "next_run_at": now_ms(),
    **dict.fromkeys(COUNTERS, literal(0)),
}
_added = (
    insert(jobs)
    .from_select(list(_new_row), select(*_new_row.values()).where(_unanswered.c.active + _unanswered.c.nth <= _most))
    .returning(jobs.c.id, jobs.c.created_at, jobs.c.expected)
    .cte("added")
)
_told = (
    insert(events)
    .from_select(
        ["job_id", "type", "data", "fence", "at"],
        select(_added.c.id, literal("queued"), _wanted.c.event, literal(0), _added.c.created_at).join_from(
            _added, _wanted, _added.c.id == _wanted.c.id
        ),
    )
    .cte("told")
)
_queue = select(func.count().label("ahead")).select_from(due_now()).cte("queue")
_ADD_NEW = (
    select(_added.c.id, _added.c.created_at, _queue.c.ahead)
    .join_from(_added, _queue, true())
    .order_by(_added.c.id)
    .add_cte(_told)
)
