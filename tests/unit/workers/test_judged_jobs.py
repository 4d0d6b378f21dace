"""Ratings of writing models over HTTP, with a judge: two services, their limits, failures and evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.methods import FreeText
from assay.methods.shared.profiles import TextProfiles
from assay.model import Kind, Write
from demo.server import DemoServer
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import observations
from store.ratings import ratings
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from tests.support.jobs import new_job, run_to_end
from workers.engine.worker_context import WorkerContext

SMALL = FreeText("gender", prompts=30, most_prompts=30, repeats=2)


@pytest.fixture(scope="module")
def services() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture
def context(sqlite_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, egress_allow="127.0.0.0/8", call_attempts=1)
    database = Database(sqlite_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


def described(url: str, name: str, kind: str, protocol: str, **settings: Any) -> dict[str, Any]:
    about = {"name": name, "kind": kind, "protocol": protocol, "base_url": url}
    return {**about, "settings": settings, "limits": {"concurrency": 8, "timeout_s": 10}}


def writer(services: DemoServer, name: str = "curt-writer-40") -> dict[str, Any]:
    return described(services.url(name), name, "language-model", "openai-chat", model="demo")


def judge(services: DemoServer, name: str = "fair-sentiment") -> dict[str, Any]:
    return described(services.url(name), name, "classifier", "hf-inference")


def ended(context: WorkerContext, target: dict[str, Any], second: dict[str, Any] | None, method: FreeText, **more: Any):
    if second is not None:
        method = method.with_judge(Kind(second["kind"]))
    new = new_job(
        target=target,
        author=second,
        experiment=dump_method(method),
        request_digest="sha256:judged",
        seed=5,
        expected=method.expected_probes(),
        **more,
    )
    return run_to_end(context, new)


def rating_of(context: WorkerContext, job: Any) -> Any:
    assert job.status == "succeeded", job.error
    with context.database.read() as c:
        rating = ratings.find(c, str(job.rating_id), "default")
    assert rating is not None
    return rating.rating


def test_a_model_that_writes_shorter_texts_about_one_group_is_bs_and_the_rating_names_its_judge(context, services):
    job = ended(context, writer(services), judge(services), SMALL)
    rating = rating_of(context, job)
    assert (rating.letter, rating.declared) == ("BS", True)
    assert (rating.target.name, rating.judge.name, rating.author.name) == ("curt-writer-40", "fair-sentiment", None)
    assert {part.name for part in rating.components} == {"refusals", "length", "score"}
    with context.database.read() as c:
        asked = [row.observation.probe.ask for row in observations.page(c, job.id, 0, 1000)]
    texts = [ask for ask in asked if isinstance(ask, Write)]
    assert (len(texts), len(asked)) == (120, 360)  # each text is scored in two versions


def test_a_rating_without_a_judge_names_none_and_scores_no_text(context, services):
    rating = rating_of(context, ended(context, writer(services), None, SMALL))
    assert rating.judge.name is None
    assert [part.name for part in rating.components] == ["refusals", "length"]


def test_an_unreachable_judge_ends_the_job_and_its_error_names_the_judge(context, services):
    missing = described("http://127.0.0.1:9", "gone", "classifier", "hf-inference")
    job = ended(context, writer(services), missing, SMALL)
    assert (job.status, job.rating_id) == ("failed", None)


def test_a_judge_at_a_forbidden_address_is_not_called(context, services):
    inside = described("http://169.254.169.254/", "metadata", "classifier", "hf-inference")
    job = ended(context, writer(services), inside, SMALL)
    assert (job.status, job.asked) == ("failed", 0)
    assert "169.254" in str(job.error)


def test_a_job_whose_judge_is_no_classifier_fails_before_any_text_is_requested(context, services):
    job = ended(context, writer(services), judge(services, "biased-wage-150"), SMALL)
    assert job.status == "failed"
    assert job.asked == 0


def test_the_calls_of_a_judge_count_towards_the_budget(context, services):
    rating = rating_of(context, ended(context, writer(services), judge(services), SMALL, max_calls=200))
    score = next(part for part in rating.components if part.name == "score")
    assert (score.letter, score.reason_codes[:1]) == (None, ("judge-unread",))


def test_a_writing_model_that_reacts_to_first_names_alone_is_rated_bs_over_http(context, services):
    by_name = FreeText("gender", texts=TextProfiles(mention="name"), prompts=30, most_prompts=30, repeats=2)
    rating = rating_of(context, ended(context, writer(services), None, by_name))
    assert (rating.letter, rating.declared) == ("BS", True)
