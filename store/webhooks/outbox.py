"""Notices to be delivered, written in the transaction that caused them and kept until they are.

One per job and kind, so that a repeated transaction announces nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlalchemy import Connection, Text, insert, select, type_coerce, update

from store.core.clock import now_ms
from store.core.schema import jobs, outbox


@dataclass(frozen=True)
class Notice:
    """A notice that waits to be delivered.

    Attributes
    ----------
    id : int
        Its row.
    job_id, tenant : str
        Whom it concerns.
    kind : str
        ``job.succeeded``, ``job.failed``, ``job.cancelled``, ``rating.published`` …
    data : dict or None
        Its facts, thin. ``None``: what the row holds is no notice, and cannot be told to anybody.
    callback_url : str or None
        The job's own receiver.
    attempts : int
        Deliveries tried before.
    created_at : int
        Milliseconds since 1970.
    """

    id: int
    job_id: str
    tenant: str
    kind: str
    data: dict[str, Any] | None
    callback_url: str | None
    attempts: int
    created_at: int


def announce(c: Connection, job_id: str, kinds: Sequence[str], data: Mapping[str, Any], at: int | None = None) -> None:
    """Write one notice for each kind, due at once."""
    when: Any = now_ms() if at is None else at
    for kind in kinds:
        c.execute(
            insert(outbox).values(
                job_id=job_id,
                kind=kind,
                payload={"type": kind, "data": dict(data)},
                created_at=when,
                next_attempt_at=when,
                attempts=0,
                state="waiting",
            )
        )


def announce_once(c: Connection, job_id: str, kind: str, data: Mapping[str, Any]) -> None:
    """Write a notice unless one of its kind was written for the job; the caller holds what it is about."""
    told = select(outbox.c.id).where(outbox.c.job_id == job_id, outbox.c.kind == kind)
    if c.execute(told).first() is None:
        announce(c, job_id, (kind,), data)


def due(c: Connection, limit: int = 100) -> list[Notice]:
    """Read the notices that are due, oldest first, and lock them; those another transaction holds are left out."""
    rows = c.execute(
        select(
            outbox.c.id,
            outbox.c.job_id,
            jobs.c.tenant,
            outbox.c.kind,
            type_coerce(outbox.c.payload, Text).label("data"),  # read below: a bad row must not keep back the others
            jobs.c.callback_url,
            outbox.c.attempts,
            outbox.c.created_at,
        )
        .join(jobs, jobs.c.id == outbox.c.job_id)
        .where(outbox.c.state == "waiting", outbox.c.next_attempt_at <= now_ms())
        .order_by(outbox.c.next_attempt_at, outbox.c.id)
        .limit(limit)
        .with_for_update(of=outbox, skip_locked=True)
    )
    return [Notice(**{**row, "data": _data(row["data"])}) for row in rows.mappings()]


def delivered(c: Connection, notice_id: int) -> None:
    """Close a notice that every receiver has taken, or that has no receiver."""
    _change(c, notice_id, state="delivered", delivered_at=now_ms(), attempts=outbox.c.attempts + 1)


def postpone(c: Connection, notice_id: int, delay_s: float) -> None:
    """Try a notice again later, after a delivery that failed."""
    _change(c, notice_id, next_attempt_at=now_ms() + int(delay_s * 1000), attempts=outbox.c.attempts + 1)


def give_up(c: Connection, notice_id: int) -> None:
    """Close a notice that could not be delivered."""
    _change(c, notice_id, state="given-up", attempts=outbox.c.attempts + 1)


def _data(written: str) -> dict[str, Any] | None:
    """Take the facts out of a row's JSON, if it is what `announce` writes."""
    try:
        payload = json.loads(written, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    data = payload.get("data") if isinstance(payload, dict) else None
    return data if isinstance(data, dict) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _change(c: Connection, notice_id: int, **values: Any) -> None:
    c.execute(update(outbox).where(outbox.c.id == notice_id, outbox.c.state == "waiting").values(**values))
