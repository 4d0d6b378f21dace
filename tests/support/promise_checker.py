"""Checker of the promises of docs/reliability.md: reads events, ledger and ratings after a test.

Promises: fences (the numbers of claims) only grow; an ended job has exactly one last event; nothing is recorded
under a fence after a later claim; a job that succeeded has exactly one rating; each question is counted once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import RowMapping, select

from store.core.database import Database
from store.jobs.tables import events, jobs, observations
from store.ratings.tables import ratings

ENDINGS = frozenset({"succeeded", "failed", "cancelled"})
LEDGER = [observations.c[name] for name in ("unit", "fence", "recorded_at", "copied", "ask")]


@dataclass
class PromiseReport:
    """Outcomes of the jobs of a database, and the broken promises.

    Attributes
    ----------
    broken : list of str
        Broken promises, in words; empty if all were kept.
    statuses : Counter
        Jobs by status.
    claims : dict of str to int
        How often each job was claimed.
    texts : dict of str to list of (text, source, target)
        The questions in the ledger, by job.
    """

    broken: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    claims: dict[str, int] = field(default_factory=dict)
    texts: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)


def check_promises(database_url: str, *, all_ended: bool = True) -> PromiseReport:
    """Check every promise on the jobs of a database.

    On Postgres all tables are read in one snapshot, so a job that still runs is compared with its ledger of that time.
    """
    database, found = Database(database_url), PromiseReport()
    try:
        with database.read() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            rows = [dict(row) for row in connection.execute(select(jobs)).mappings()]
            told = [dict(row) for row in connection.execute(select(events).order_by(events.c.id)).mappings()]
            rated = Counter(connection.execute(select(ratings.c.job_id)).scalars())
            by_job = _group(told)
            for job in rows:
                found.statuses[job["status"]] += 1
                _check_events(job, by_job[job["id"]], found, all_ended=all_ended)
                # read job by job: the ledger of ten thousand jobs holds more than a million replies
                kept = connection.execute(select(*LEDGER).where(observations.c.job_id == job["id"])).mappings().all()
                _check_ledger(job, by_job[job["id"]], kept, found)
                if rated[job["id"]] != (job["status"] == "succeeded" and job["kind"] == "rating"):
                    found.broken.append(f"{job['id']} is {job['status']} and has {rated[job['id']]} ratings")
    finally:
        database.close()
    return found


def repeated(found: PromiseReport, job_id: str, counts: Mapping[tuple[str, str, str], int]) -> int:
    """Return how many calls too many were made for a job: one is allowed for each question in its ledger."""
    return sum(counts[text] - 1 for text in set(found.texts[job_id]))


def _check_events(
    job: Mapping[str, Any], told: Sequence[Mapping[str, Any]], found: PromiseReport, *, all_ended: bool
) -> None:
    name = job["id"]
    fences = [event["fence"] for event in told]
    if fences != sorted(fences):
        found.broken.append(f"{name}: an event was written under an old fence: {fences}")
    claimed = [event["fence"] for event in told if event["type"] == "claimed"]
    found.claims[name] = len(claimed)
    if claimed != list(range(1, len(claimed) + 1)):
        found.broken.append(f"{name}: claims have the fences {claimed}")
    last = [event["type"] for event in told if event["type"] in ENDINGS]
    if job["status"] in ENDINGS:
        if last != [job["status"]] or told[-1]["type"] != job["status"]:
            found.broken.append(f"{name} is {job['status']}, and its events end with {[e['type'] for e in told][-3:]}")
    elif all_ended or last:
        found.broken.append(f"{name} has not ended: {job['status']}, {job['stage']}, events {last}")
    if (job["status"] == "running") != (job["lease_until"] is not None):
        found.broken.append(f"{name} is {job['status']} with the lease {job['lease_until']}")


def _check_ledger(
    job: Mapping[str, Any], told: Sequence[Mapping[str, Any]], kept: Sequence[RowMapping], found: PromiseReport
) -> None:
    name = job["id"]
    claimed_at = {event["fence"]: event["at"] for event in told if event["type"] == "claimed"}
    for row in kept:
        later = claimed_at.get(row["fence"] + 1)
        if later is not None and row["recorded_at"] > later:
            late_ms = row["recorded_at"] - later
            found.broken.append(f"{name}: {row['unit']} was recorded {late_ms} ms after the next claim")
    asked = [row for row in kept if not row["copied"]]
    if job["asked"] != len(asked):
        found.broken.append(f"{name}: the row says {job['asked']} were asked, the ledger holds {len(asked)}")
    found.texts[name] = [(row["ask"]["text"], row["ask"]["source"], row["ask"]["target"]) for row in asked]


def _group(rows: Sequence[Mapping[str, Any]]) -> defaultdict[str, list[Mapping[str, Any]]]:
    grouped: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["job_id"]].append(row)
    return grouped
