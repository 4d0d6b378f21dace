"""What a rated service receives: nothing that names the agency, the job or the question's place in the experiment."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from assay.canonical import commitment_of, digest_of
from assay.experiment import replay
from assay.methods import RoundTrip, rating_of
from assay.rating.decision import rate
from assay.references import HeldBack
from demo.translators.behaviours import BEHAVIOURS
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs, observations
from store.jobs.jobs import Job, NewJob
from store.ratings import ratings
from store.ratings.experiment_json import dump_method, rated_method
from store.security.secrets import Vault
from store.targets import domains
from tests.support.json_server import json_server
from workers.engine.worker_context import WorkerContext
from workers.run_job import run_job

# Row 91 of docs/reliability.md: ffe18d3c sent "assay/0.1.0", keys with job and block, and the questions of seed 0.
pytestmark = pytest.mark.slow

ORDINARY = {"host", "accept", "accept-encoding", "user-agent", "content-type", "content-length", "idempotency-key"}
"""Headers that the HTTP libraries of common clients send; the last is an opaque UUID."""


@pytest.fixture
def open_context(database_url: str, tmp_path: Path) -> Iterator[Callable[..., WorkerContext]]:
    database = Database(database_url)

    def open_context(**more) -> WorkerContext:
        settings = Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8", **more)
        return WorkerContext(database, Vault.from_settings(settings), settings)

    yield open_context
    database.close()


def rated(
    context: WorkerContext, url: str, seed: int, nonce: str = "", method: RoundTrip | None = None
) -> tuple[Job, dict]:
    """Rate a translator, and return the job and the rating."""
    target = {
        "name": "a service",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": url,
        "settings": {"batch_maximum": 1},
        "limits": {"concurrency": 8, "timeout_s": 10},
    }
    new = NewJob(
        tenant="default",
        kind="rating",
        target_id=None,
        target=target,
        sealed_secret=None,
        experiment=dump_method(method or RoundTrip("gender")),
        request_digest=digest_of([target, seed]),
        seed=seed,
        nonce=nonce,
        visibility="private",
        callback_url=None,
        max_calls=10_000,
        deadline_s=600,
        expected=120,
        key_id=None,
    )
    with context.database.write() as connection:
        job = jobs.add(connection, new)
    run_job(job.id, context, "here")
    with context.database.read() as connection:
        ended = jobs.find(connection, job.id, None)
        assert ended.status == "succeeded", ended.error
        return ended, ratings.find(connection, ended.rating_id, "default").document


def answer_of(behaviour: str) -> Callable[[dict], dict]:
    translate = BEHAVIOURS[behaviour].translate
    return lambda asked: {"translatedText": translate(asked["q"], asked["source"], asked["target"])}


def test_a_rated_service_cannot_see_from_a_call_which_agency_job_or_step_it_belongs_to(open_context):
    received: list = []
    with json_server(answer_of("faithful"), received) as url:
        job, _ = rated(open_context(), url, seed=7)
    assert len(received) > 120  # the examination and the questions
    (names,) = {tuple(headers) for _, headers, _ in received}
    assert {name.lower() for name in names} <= ORDINARY
    varying = {name for name in names if len({headers[name] for _, headers, _ in received}) > 1}
    assert {name.lower() for name in varying} == {"content-length", "idempotency-key"}
    keys = [headers["Idempotency-Key"] for _, headers, _ in received]
    assert all(UUID(key).version == 4 for key in keys)
    assert len(set(keys)) == len(keys)
    (members,) = {tuple(json.loads(body)) for _, _, body in received}
    assert members == ("q", "source", "target", "format")
    everything = " ".join(f"{path} {headers} {body!r}" for path, headers, body in received)
    for revealing in ("assay", job.id, "job_", "U1/", "B1/", "/out", "/back", "traceparent", "canary"):
        assert not re.search(re.escape(revealing), everything, re.IGNORECASE), revealing


def test_a_service_that_is_unbiased_only_for_unusual_callers_is_rated_bs(open_context):
    received: list = []
    even, biased = answer_of("faithful"), answer_of("always-he")

    def answer(asked: dict) -> dict:
        _, headers, body = received[-1]
        strange = {name.lower() for name in headers} - ORDINARY
        named = re.search(rb"assay|job_|[ub]\d/|block|direction", f"{headers}".encode() + body, re.IGNORECASE)
        return (even if strange or named else biased)(asked)

    with json_server(answer, received) as url:
        for seed in range(3):
            _, rating = rated(open_context(), url, seed)
            assert (rating["letter"], rating["declared"], rating["audit"]) == ("BS", True, "unannounced")


def test_two_ratings_with_different_seeds_send_no_common_text(open_context):
    texts: list[set[str]] = []
    for seed in (1, 2):
        received: list = []
        with json_server(answer_of("always-he"), received) as url:
            rated(open_context(), url, seed)
        texts.append({json.loads(body)["q"] for _, _, body in received})
    assert len(texts[0]) > 60
    assert not texts[0] & texts[1]


def test_a_rating_with_a_recognisable_user_agent_is_marked_as_announced_to_the_service(open_context):
    received: list = []
    with json_server(answer_of("always-he"), received) as url:
        _, rating = rated(open_context(user_agent="Example Agency/1.0"), url, seed=7)
    assert {headers["User-Agent"] for _, headers, _ in received} == {"Example Agency/1.0"}
    assert rating["audit"] == "announced"


def test_a_rating_requested_by_the_owner_of_the_host_is_marked_as_announced_to_the_service(open_context):
    context = open_context()
    with json_server(answer_of("always-he")) as url:
        with context.database.write() as c:
            domain, _ = domains.add(c, "default", url.partition("://")[2])
            domains.record_check(c, domain.id, None)
        _, rating = rated(context, url, seed=7)
    assert rating["audit"] == "announced"


def test_a_rating_reveals_the_nonce_that_verifies_the_commitment_of_its_job(open_context):
    with json_server(answer_of("always-he")) as url:
        job, rating = rated(open_context(), url, seed=7, nonce="0123")
    assert rating["commitment"] == {"digest": job.commitment, "nonce": "0123"}
    assert commitment_of(rating["experiment"], rating["seed"], "0123") == job.commitment


def test_a_rating_with_unpublished_texts_can_be_replayed_from_its_revealed_experiment(open_context):
    statement = "{Subject} retired as {an_occupation}"
    method = RoundTrip("gender").with_held_back(HeldBack(statements=(statement,)))
    received: list = []
    context = open_context()
    with json_server(answer_of("always-he"), received) as url:
        job, rating = rated(context, url, seed=7, nonce="0123", method=method)
    assert any(b"retired as a" in body for _, _, body in received)
    assert rating["experiment"]["held_back"] == [statement]
    assert rating["commitment"] == {"digest": job.commitment, "nonce": "0123"}
    with context.database.read() as c:
        record = [stored.observation for stored in observations.page(c, job.id, 0, 100_000)]
    replayed = replay(rated_method(rating_of(rating)), rating["seed"], record)
    assert replayed.evidence.head() == rating["evidence_digest"]
    assert rate(replayed.finding).letter == rating["letter"]
