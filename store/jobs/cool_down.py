"""Cool-down of a target between jobs."""

from __future__ import annotations

import math

from sqlalchemy import Connection, func, select

from store.core.clock import now_ms
from store.jobs.tables import jobs

LONGEST_JOB_MS = 86_400_000
"""Maximum duration of a job in milliseconds, so that rows of much older jobs need not be read."""


def rest_s(c: Connection, tenant: str, target_url: str | None, cooldown_s: float) -> int:
    """Return the whole seconds until a tenant may start a new job on a target; 0 if it may start now.

    Only ratings that a worker started count, not dry runs or jobs answered by an earlier rating. A target without an
    address (an upload) has no cool-down, and ``cooldown_s=0`` disables it.
    """
    if cooldown_s <= 0 or not target_url:
        return 0
    rest_ms = round(cooldown_s * 1000)
    last = (
        select(func.max(jobs.c.finished_at))
        .where(jobs.c.tenant == tenant, jobs.c.target_url == target_url, jobs.c.kind == "rating")
        .where(jobs.c.created_at >= now_ms() - rest_ms - LONGEST_JOB_MS, jobs.c.started_at.is_not(None))
        .scalar_subquery()
    )
    remaining_ms = c.execute(select(last + rest_ms - now_ms())).scalar_one()
    return 0 if remaining_ms is None else max(0, math.ceil(remaining_ms / 1000))
