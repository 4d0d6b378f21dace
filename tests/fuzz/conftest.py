"""A worker whose steps a test calls; it never calls a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from assay.model import Failure, Observation, Probe, Reply, Translate
from store.core.database import Database
from store.jobs import jobs
from store.jobs.jobs import Claim, Job, LedgerEntry
from store.ratings.ratings import NewRating
from tests.support.new_ratings import new_rating

DOCUMENT: dict[str, Any] = {
    "letter": "DSBS",
    "declared": True,
    "probabilities": {"BS": 0.004, "DSBS": 0.996, "UCS": 0.0},
    "method": "round-trip",
    "attribute": "gender",
    "components": [
        {
            "name": "es",
            "letter": "DSBS",
            "declared": True,
            "probabilities": None,
            "effects": {"step_1": {"estimate": 0.01, "low": 0.0, "high": 0.04}, "step_2": None},
            "usable": 240,
            "unusable": 0,
        }
    ],
    "published": {"kl": "DSBS"},
    "reasons": [{"code": "follows-biased-input", "text": "It follows its input.", "facts": {}, "component": "es"}],
    "confidence": 0.95,
    "delta": 0.1,
    "counts": {"asked": 240, "failed": 0, "usable": 60, "unusable": 0},
    "methodology": {"version": "1.3.0", "digest": "sha256:00"},
    "engine_version": "0.1.0",
    "calls": 240,
    "evidence_digest": "sha256:00",
    "next_methodology": {"version": None, "letter": None},
}
"""A small but complete rating, as `assay` writes it."""


class HandWorker:
    """A worker whose steps a test calls one transaction at a time, with the functions of real workers."""

    LEASE_S = 600.0
    """Seconds of a lease: longer than any test, so that a lease only ends if the test ends it."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def claim(self, job_id: str, owner: str = "hand") -> Claim | None:
        """Claim a job if possible."""
        with self.database.write() as c:
            return jobs.claim(c, job_id, owner, self.LEASE_S)

    def record(self, claim: Claim, answers: Sequence[tuple[str, bool]], calls: int) -> Job:
        """Record pairs of a question's name and whether it was answered."""
        entries = [
            LedgerEntry(
                Observation(
                    Probe(unit, Translate(f"text of {unit}", "en", "es")),
                    Reply("texto") if answered else Reply(failure=Failure("timeout", "no answer in 30 s")),
                ),
                attempts=1,
                elapsed_ms=12,
            )
            for unit, answered in answers
        ]
        with self.database.write() as c:
            return jobs.record(c, claim, entries, calls=calls, expected=240, stage="asking")

    def finish(self, claim: Claim) -> None:
        """Finish a job with a rating or a probe's result."""
        with self.database.write() as c:
            if claim.job.kind != "rating":
                jobs.finish_with(c, claim, "probed", {"order_kept": True, "latency_ms": 12})
            else:
                jobs.finish(c, claim, self._rating(claim.job))

    def fail(self, claim: Claim) -> None:
        """End a job without a rating."""
        error = {"type": "about:blank", "title": "The target refused", "detail": "401", "code": "target_refused"}
        with self.database.write() as c:
            jobs.fail(c, claim, error)

    def complete(self, job_id: str) -> None:
        """Complete a job, so that its event stream ends."""
        claim = self.claim(job_id)
        if claim is not None:
            self.record(claim, [("es/U/0/there", True), ("es/U/1/there", False)], calls=2)
            self.finish(claim)

    @staticmethod
    def _rating(job: Job) -> NewRating:
        url = job.target["base_url"]
        target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "url": url, "digest": "sha256:00"}
        return new_rating(
            tenant=job.tenant,
            target_id=job.target_id,
            target=target,
            method="round-trip",
            attribute="gender",
            letter="DSBS",
            declared=True,
            visibility=job.visibility,
            document={**DOCUMENT, "target": target, "seed": job.seed, "visibility": job.visibility},
            methodology_version="1.3.0",
            request_digest=job.request_digest,
            valid_for_s=3600,
            description="default",
        )


@pytest.fixture
def hand(database_url: str) -> Iterator[HandWorker]:
    """A worker for the test's database, on each kind of database."""
    database = Database(database_url)
    yield HandWorker(database)
    database.close()
