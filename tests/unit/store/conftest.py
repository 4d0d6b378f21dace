"""Jobs, answers and ratings to store."""

from collections.abc import Callable, Iterator

import pytest

from assay.model import Failure, Observation, Probe, Reply, Translate
from store.core.database import Database
from store.jobs.jobs import Claim, Job, LedgerEntry, NewJob, add, claim
from store.ratings.ratings import NewRating


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A door to a database of each kind in turn."""
    database = Database(database_url, pool_timeout_s=1)
    yield database
    database.close()


@pytest.fixture
def a_job() -> Callable[..., NewJob]:
    """Make a request for a rating; say what is special about it."""

    def make(**special) -> NewJob:
        plain = {
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
        return NewJob(**{**plain, **special})

    return make


@pytest.fixture
def queued(database, a_job) -> Callable[..., Job]:
    """Write a job down."""

    def make(**special) -> Job:
        with database.write() as c:
            return add(c, a_job(**special))

    return make


@pytest.fixture
def claimed(database, queued) -> Callable[..., Claim]:
    """Write a job down and claim it."""

    def make(lease_s: float = 30, **special) -> Claim:
        job = queued(**special)
        with database.write() as c:
            return claim(c, job.id, "first worker", lease_s)

    return make


@pytest.fixture
def entry() -> Callable[..., LedgerEntry]:
    """Answer a question, or fail to."""

    def make(unit: str, value=None, *, text=None, failure: str | None = None, copied: bool = False) -> LedgerEntry:
        reply = Reply(value=value) if failure is None else Reply(failure=Failure(failure, "no luck"))
        probe = Probe(unit, Translate(text or f"text of {unit}", "en", "es"))
        return LedgerEntry(Observation(probe, reply, copied), attempts=0 if copied else 1, elapsed_ms=12)

    return make


@pytest.fixture
def a_rating() -> Callable[..., NewRating]:
    """Make a rating; say what is special about it."""

    def make(**special) -> NewRating:
        plain = {
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
        }
        return NewRating(**{**plain, **special})

    return make


@pytest.fixture
def published(database, claimed, a_rating) -> Callable[..., str]:
    """Run a job to its rating; return the rating's id."""
    from store.jobs.jobs import finish

    def make(**special) -> str:
        claim = claimed(tenant=special.get("tenant", "acme"))
        with database.write() as c:
            return finish(c, claim, a_rating(**special), ("job.succeeded",))

    return make
