"""Answers of a job, recorded in the database while it runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.model import Observation
from store.jobs import jobs, observations
from store.jobs.jobs import Claim, LedgerEntry
from workers.engine.worker_context import Workplace


@dataclass(frozen=True, slots=True)
class Answered:
    """An observation with what it took to get it."""

    observation: Observation
    attempts: int
    elapsed_ms: int


class Ledger(Protocol):
    """Where answers are kept. `record` blocks and is called from a thread, one at a time."""

    def record(self, answers: Sequence[Answered], *, calls: int, expected: int) -> None:
        """Keep answers for good, and count `calls` more; raise if the job is no longer ours."""
        ...


@dataclass
class JobLedger:
    """Answers and stage of a job, stored in the database under the claim's fence."""

    workplace: Workplace
    claim: Claim

    def stage(self, stage: str) -> None:
        """Store what is being done."""
        with self.workplace.database.write() as connection:
            jobs.stage(connection, self.claim, stage)

    def recall(self, units: Sequence[str]) -> dict[str, Observation]:
        """Read the observations of some units that an earlier attempt recorded."""
        with self.workplace.database.read() as connection:
            return observations.recall(connection, self.claim.job.id, units)

    def record(self, answers: Sequence[Answered], *, calls: int, expected: int) -> None:
        """Store some answers in one transaction, and report how far the job is."""
        entries = [LedgerEntry(each.observation, each.attempts, each.elapsed_ms) for each in answers]
        start = time.perf_counter()
        with self.workplace.database.write() as connection:
            job = jobs.record(connection, self.claim, entries, calls=calls, expected=expected, stage="asking")
        self.workplace.meter.recorded(time.perf_counter() - start)
        self.workplace.on_progress(job.asked, job.expected)
