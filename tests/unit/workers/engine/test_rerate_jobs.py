"""Jobs of kind ``rerate``: they rate stored evidence again, without calls, and do not change the rating."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from assay.methods import RoundTrip
from assay.rating.methodology import Methodologies, shipped
from demo.server import DemoServer
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import observations
from store.jobs.jobs import Job
from store.ratings import ratings, rerated
from store.ratings.experiment_json import dump_method
from store.ratings.ratings import StoredRating
from store.ratings.tables import ratings as rows
from store.security.secrets import Vault
from tests.support.jobs import new_job, run_to_end
from workers.engine.worker_context import WorkerContext

NEXT = replace(
    shipped().current,
    version="2.0.0",
    digest="sha256:2",
    status="next",
    amend=lambda method: replace(method, delta=0.35, strata=False, delta_loss=None),
)
WITH_NEXT = Methodologies((*shipped().versions, NEXT))


@pytest.fixture(scope="module")
def services() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture
def context(database_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8")
    database = Database(database_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings, methodologies=WITH_NEXT)
    database.close()


@pytest.fixture
def post(context: WorkerContext) -> Callable[..., Job]:
    """Post a job and run it to its end."""

    def post(kind: str, experiment: dict, base_url: str | None = None, tenant: str = "default") -> Job:
        target = {
            "name": "a service",
            "kind": "translator",
            "protocol": "libretranslate",
            "base_url": base_url,
            "settings": {"batch_maximum": 1},
            "limits": {"concurrency": 8, "timeout_s": 5},
        }
        new = new_job(tenant=tenant, kind=kind, target=target, experiment=experiment, request_digest=kind, expected=0)
        return run_to_end(context, new)

    return post


@pytest.fixture
def rating(context: WorkerContext, services: DemoServer, post: Callable[..., Job]) -> StoredRating:
    """Rate a translator that turns almost half of all women into men."""
    job = post("rating", dump_method(RoundTrip("gender")), services.url("she-to-he-45"))
    with context.database.read() as c:
        found = ratings.find(c, str(job.rating_id), "default")
    assert found is not None
    assert found.letter == "BS"
    return found


def test_rerated_letter_is_the_jobs_result_and_is_stored_with_the_rating(context, rating, post):
    with context.database.read() as c:
        before = len(observations.page(c, rating.job_id, 0, 10_000))
    job = post("rerate", {"rating": rating.id, "version": "2.0.0"})
    assert (job.status, job.stage, job.rating_id, job.calls) == ("succeeded", "rerated", None, 0)
    assert {name: job.result[name] for name in ("rating", "version", "letter", "declared")} == {
        "rating": rating.id,
        "version": "2.0.0",
        "letter": "DSBS",
        "declared": True,
    }
    with context.database.read() as c:
        (kept,) = rerated.of_rating(c, rating.id)
        assert ratings.find(c, rating.id, "default") == rating
        assert len(observations.page(c, rating.job_id, 0, 10_000)) == before
    assert kept.document["rerated_from"]["rating"] == rating.id
    assert kept.document["methodology"] == {"version": "2.0.0", "digest": "sha256:2"}


def test_rerating_by_its_own_version_gives_the_letter_and_probabilities_of_the_rating(rating, post):
    job = post("rerate", {"rating": rating.id, "version": "current"})
    assert job.result["letter"] == rating.letter
    assert job.result["probabilities"] == rating.document["probabilities"]


def test_rerating_of_a_rating_by_a_removed_version_fails_and_names_the_version(context, rating, post):
    with context.database.write() as c:
        old = {"version": "1.2.0", "digest": "sha256:12"}
        c.execute(update(rows).values(document={**rating.document, "methodology": old}, methodology_version="1.2.0"))
    job = post("rerate", {"rating": rating.id, "version": "2.0.0"})
    assert (job.status, job.error["reason"]) == ("failed", "methodology-removed")
    assert "made under methodology 1.2.0" in job.error["detail"]


def test_rating_the_same_evidence_again_by_the_same_version_replaces_the_first_result(context, rating, post):
    for _ in range(2):
        post("rerate", {"rating": rating.id, "version": "2.0.0"})
    with context.database.read() as c:
        assert [one.methodology_version for one in rerated.of_rating(c, rating.id)] == ["2.0.0"]


def test_rating_altered_evidence_again_fails_and_stores_no_letter(context, rating, post):
    with context.database.write() as c:
        c.execute(update(rows).values(document={**rating.document, "evidence_digest": "sha256:00"}))
    job = post("rerate", {"rating": rating.id, "version": "2.0.0"})
    assert (job.status, job.error["code"], job.error["reason"]) == ("failed", "evidence_unfit", "evidence-altered")
    assert "sha256:00" in job.error["detail"]
    with context.database.read() as c:
        assert rerated.of_rating(c, rating.id) == []


def test_a_rating_of_another_tenant_cannot_be_rated_again(rating, post):
    job = post("rerate", {"rating": rating.id, "version": "2.0.0"}, tenant="other")
    assert (job.status, job.error["code"]) == ("failed", "bad_specification")


def test_rating_again_by_an_unknown_methodology_version_fails_and_lists_the_known_versions(rating, post):
    job = post("rerate", {"rating": rating.id, "version": "9.9.9"})
    assert job.status == "failed"
    assert "2.0.0" in job.error["detail"]
