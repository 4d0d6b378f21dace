"""How long a target rests after a job, before its tenant may ask for new work."""

from __future__ import annotations

import math

from sqlalchemy import Connection, func, select

from store.core.clock import now_ms
from store.core.schema import jobs

LONGEST_JOB_MS = 86_400_000
"""Longest time that a job can be given; older rows need not be looked at."""


def rest_s(c: Connection, tenant: str, target_url: str | None, cooldown_s: float) -> int:
    """Count the seconds until new work against a target may be asked for.

    Only jobs that were worked on count: neither those that an earlier rating answered, nor dry runs.

    Parameters
    ----------
    c : Connection
        Where to read.
    tenant, target_url : str
        Whose target, and where it is. One without an address (an upload) never rests.
    cooldown_s : float
        Rest after a job, in seconds; 0 is none.

    Returns
    -------
    int
        Whole seconds, 0 where it may be asked for now.
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
    left = c.execute(select(last + rest_ms - now_ms())).scalar_one()
    return 0 if left is None else max(0, math.ceil(left / 1000))
