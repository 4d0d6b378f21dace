"""Ledger of a job: its answers, stored in the database while it runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.model import Observation
from store.jobs import jobs, observations
from store.jobs.jobs import Claim, LedgerEntry
from workers.engine.worker_context import Workplace


class Ledger(Protocol):
    """Storage of answers; `record` may block and is called from one thread at a time."""

    def record(self, answers: Sequence[LedgerEntry], *, calls: int, expected: int) -> None:
        """Store answers, and add to the number of calls; raise if another worker has the job."""
        ...


@dataclass
class JobLedger:
    """Ledger in the database, protected by the fence of the claim."""

    workplace: Workplace
    claim: Claim

    def stage(self, stage: str) -> None:
        """Store the stage of the job."""
        with self.workplace.database.write() as connection:
            jobs.stage(connection, self.claim, stage)

    def recall(self, units: Sequence[str]) -> dict[str, Observation]:
        """Read the observations of some probes (`Probe.unit`) that an earlier attempt stored."""
        with self.workplace.database.read() as connection:
            return observations.recall(connection, self.claim.job.id, units)

    def record(self, answers: Sequence[LedgerEntry], *, calls: int, expected: int) -> None:
        """Store some answers in one transaction, and report the progress of the job."""
        start = time.perf_counter()
        with self.workplace.database.write() as connection:
            job = jobs.record(connection, self.claim, answers, calls=calls, expected=expected, stage="asking")
        self.workplace.meter.recorded(time.perf_counter() - start)
        self.workplace.on_progress(job.asked, job.expected)
