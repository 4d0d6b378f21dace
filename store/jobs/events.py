"""Events of a job, in order; clients can replay them from any event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from store.core import schema
from store.core.clock import now_ms


@dataclass(frozen=True)
class Event:
    """An event of a job.

    Attributes
    ----------
    id : int
        Increases within a job; the value of ``Last-Event-ID``.
    type : str
        ``queued``, ``claimed``, ``stage``, ``progress``, ``released``, ``succeeded``, ``failed`` or ``cancelled``.
    data : dict
        Details of the event.
    at : int
        Milliseconds since 1970.
    """

    id: int
    job_id: str
    type: str
    data: dict[str, Any]
    at: int


_APPEND = insert(schema.events).values(at=now_ms())


def append(c: Connection, job_id: str, type: str, data: Mapping[str, Any], *, fence: int) -> None:  # noqa: A002
    """Append an event. The caller has locked the job's row, so that the ids of a job are committed in order."""
    c.execute(_APPEND, {"job_id": job_id, "type": type, "data": dict(data), "fence": fence})


def events(c: Connection, job_id: str, after: int, limit: int = 500) -> list[Event]:
    """List a job's events after the one with id `after` (0: from the start), oldest first."""
    table = schema.events
    rows = c.execute(
        select(table.c.id, table.c.job_id, table.c.type, table.c.data, table.c.at)
        .where(table.c.job_id == job_id, table.c.id > after)
        .order_by(table.c.id)
        .limit(limit)
    )
    return [Event(*row) for row in rows]
