"""Fixtures of the store's tests: databases, jobs, observations and ratings."""

from collections.abc import Callable, Iterator

import pytest

from assay.model import Failure, Observation, Probe, Reply, Translate
from store.core.database import Database
from store.jobs.jobs import Claim, Job, LedgerEntry, NewJob, add, claim, finish
from store.ratings.ratings import NewRating
from tests.support.new_ratings import new_rating


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database of each kind: SQLite and Postgres."""
    database = Database(database_url, pool_timeout_s=1)
    yield database
    database.close()


@pytest.fixture
def a_job() -> Callable[..., NewJob]:
    """Factory of new jobs; keyword arguments replace the defaults."""

    def make(**changes) -> NewJob:
        defaults = {
            "tenant": "acme",
            "kind": "rating",
            "target_id": None,
            "target": {
                "name": "Mirror",
                "kind": "translator",
                "protocol": "libretranslate",
                "base_url": "http://mirror",
            },
            "sealed_secret": None,
            "experiment": {"method": "round-trip", "attribute": "gender"},
            "request_digest": "sha256:1",
            "seed": 7,
            "visibility": "private",
            "callback_url": None,
            "max_calls": 100,
            "deadline_s": 3600,
            "expected": 240,
            "key_id": None,
        }
        return NewJob(**defaults | changes)

    return make


@pytest.fixture
def queued(database, a_job) -> Callable[..., Job]:
    """Factory of queued jobs."""

    def make(**changes) -> Job:
        with database.write() as c:
            return add(c, a_job(**changes))

    return make


@pytest.fixture
def claimed(database, queued) -> Callable[..., Claim]:
    """Factory of claimed jobs."""

    def make(lease_s: float = 30, **changes) -> Claim:
        job = queued(**changes)
        with database.write() as c:
            return claim(c, job.id, "first worker", lease_s)

    return make


@pytest.fixture
def entry() -> Callable[..., LedgerEntry]:
    """Factory of ledger entries with a reply or a failure."""

    def make(unit: str, value=None, *, text=None, failure: str | None = None, copied: bool = False) -> LedgerEntry:
        reply = Reply(value=value) if failure is None else Reply(failure=Failure(failure, "no luck"))
        probe = Probe(unit, Translate(text or f"text of {unit}", "en", "es"))
        return LedgerEntry(Observation(probe, reply, copied), attempts=0 if copied else 1, elapsed_ms=12)

    return make


@pytest.fixture
def a_rating() -> Callable[..., NewRating]:
    """Factory of new ratings; keyword arguments replace the defaults."""

    def make(**changes) -> NewRating:
        defaults = {
            "tenant": "acme",
            "target_id": None,
            "target": {"name": "Mirror", "kind": "translator", "protocol": "x", "url": "http://mirror", "digest": "d"},
            "method": "round-trip",
            "attribute": "gender",
            "letter": "DSBS",
            "declared": True,
            "visibility": "private",
            "document": {"letter": "DSBS", "components": [{"transitions": {"she": {"he": 1}, "he": {"he": 2}}}]},
            "methodology_version": "1.0.0",
            "request_digest": "sha256:1",
            "valid_for_s": 1000,
            "description": "default",
        }
        return new_rating(**defaults | changes)

    return make


@pytest.fixture
def published(database, claimed, a_rating) -> Callable[..., str]:
    """Factory of ratings of finished jobs; it returns their ids."""

    def make(**changes) -> str:
        claim = claimed(tenant=changes.get("tenant", "acme"))
        with database.write() as c:
            return finish(c, claim, a_rating(**changes))

    return make
