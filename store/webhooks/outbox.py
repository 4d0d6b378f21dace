"""Outbox: notices for webhooks, written in the transaction that causes them.

A job has at most one notice of a kind, so that a repeated transaction sends nothing twice.
"""

import json
from dataclasses import dataclass
from typing import NoReturn

from sqlalchemy import Connection, Text, insert, select, type_coerce, update

from assay.document import Json, JsonObject
from store.core.columns import now_ms
from store.jobs.tables import jobs
from store.webhooks.tables import outbox


@dataclass(frozen=True)
class Notice:
    """A notice that waits for delivery.

    `data` has the notice's facts; ``None`` if the row has no valid payload. `callback_url` is the job's own receiver.
    `created_at` is in milliseconds since 1970.
    """

    id: int
    job_id: str
    tenant: str
    kind: str
    data: JsonObject | None
    callback_url: str | None
    created_at: int


def notice_row(job_id: str, kind: str, data: Json, at: object) -> JsonObject:
    """Return the row of a notice that is due at the time `at`."""
    schedule = {"created_at": at, "next_attempt_at": at, "attempts": 0, "state": "waiting"}
    return {"job_id": job_id, "kind": kind, "payload": {"type": kind, "data": dict(data)}, **schedule}


def add_notice(c: Connection, job_id: str, kind: str, data: Json) -> None:
    """Add a notice about a job, due at once."""
    c.execute(insert(outbox).values(notice_row(job_id, kind, data, now_ms())))


def add_notice_once(c: Connection, job_id: str, kind: str, data: Json) -> None:
    """Add a notice unless the job has a notice of this kind already. The caller has locked the notice's subject."""
    if c.execute(select(outbox.c.id).where(outbox.c.job_id == job_id, outbox.c.kind == kind)).first() is None:
        add_notice(c, job_id, kind, data)


def due(c: Connection, limit: int = 100) -> list[Notice]:
    """List and lock due notices, oldest first, except those locked by other transactions."""
    rows = c.execute(
        select(
            *(outbox.c[name] for name in ("id", "job_id", "kind", "created_at")),
            *(jobs.c.tenant, jobs.c.callback_url),
            # read as text and parsed later, so that an invalid row does not block the others
            type_coerce(outbox.c.payload, Text).label("data"),
        )
        .join(jobs, jobs.c.id == outbox.c.job_id)
        .where(outbox.c.state == "waiting", outbox.c.next_attempt_at <= now_ms())
        .order_by(outbox.c.next_attempt_at, outbox.c.id)
        .limit(limit)
        .with_for_update(of=outbox, skip_locked=True)
    )
    return [Notice(**{**row, "data": _parse_facts(row["data"])}) for row in rows.mappings()]


def mark_delivered(c: Connection, notice_id: int) -> None:
    """Close a notice after its deliveries were created."""
    _change_notice(c, notice_id, state="delivered", delivered_at=now_ms(), attempts=outbox.c.attempts + 1)


def give_up(c: Connection, notice_id: int) -> None:
    """Close a notice that cannot be delivered, because it has no valid payload."""
    _change_notice(c, notice_id, state="given-up", attempts=outbox.c.attempts + 1)


def _parse_facts(text: str) -> JsonObject | None:
    """Parse the payload of `add_notice` and return its facts, or ``None`` if it is invalid."""
    try:
        payload = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    facts = payload.get("data") if isinstance(payload, dict) else None
    return facts if isinstance(facts, dict) else None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not valid JSON")


def _change_notice(c: Connection, notice_id: int, **values: object) -> None:
    c.execute(update(outbox).where(outbox.c.id == notice_id, outbox.c.state == "waiting").values(**values))
