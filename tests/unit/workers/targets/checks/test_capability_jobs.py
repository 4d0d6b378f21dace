"""Jobs examine their target with questions of the experiment; dry runs with samples or built-in texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assay.canonical import digest_of
from assay.methods import Alternation, ForcedChoice, fit_to
from assay.methods.forced_choice.choice_trials import Trials
from assay.methods.shared.profiles import TextProfiles
from assay.model import Kind
from store.core.database import Database
from store.core.settings import Settings
from store.jobs.jobs import Job
from store.ratings import ratings
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from tests.support.jobs import new_job, run_to_end
from tests.support.json_server import json_server
from workers.engine.worker_context import WorkerContext
from workers.targets.checks.samples import SENTENCES


@dataclass
class Scoring:
    """MLflow server on this machine that records the rows of every call."""

    predict: Callable[[list[dict[str, Any]]], list[Any]]
    calls: list[list[dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        table = body["dataframe_split"]
        self.calls.append([dict(zip(table["columns"], row, strict=True)) for row in table["data"]])
        return {"predictions": self.predict(self.calls[-1])}


def even(rows: list[dict[str, Any]]) -> list[Any]:
    """Score a text by its words for events; the group of people that it mentions has no influence."""
    scores = [(sum(map(ord, row["text"].split()[-1])) % 10) / 10 for row in rows]
    return [[1 - score, score] for score in scores]


@pytest.fixture
def serve() -> Iterator[Callable[..., Scoring]]:
    with ExitStack() as serving:

        def start(predict: Callable[[list[dict[str, Any]]], list[Any]]) -> Scoring:
            scoring = Scoring(predict)
            scoring.url = serving.enter_context(json_server(scoring.answer))
            return scoring

        yield start


@pytest.fixture
def context(database_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8", call_attempts=1)
    database = Database(database_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


def run(context: WorkerContext, url: str, kind: Kind, method: Any = None, **settings: Any) -> Job:
    """Post and run a job on a target of a kind; without a method it is a dry run."""
    target = {"name": "T", "kind": kind.value, "protocol": "mlflow", "base_url": url, "settings": settings}
    new = new_job(
        kind="rating" if method else "probe",
        target=target,
        experiment=dump_method(fit_to(method, kind)) if method else None,
        request_digest=digest_of([target, str(method)]),
    )
    return run_to_end(context, new)


LABELS = {"labels": ["bad", "good"]}
FEW = TextProfiles(
    ("{person} is {content}.",),
    {"he": tuple(f"Mr {n}" for n in range(10)), "she": tuple(f"Ms {n}" for n in range(10))},
    {"glad": tuple(f"glad-{n}" for n in range(8)), "sad": tuple(f"sad-{n}" for n in range(8))},
)
"""Few texts, because each text is a call."""


def test_a_target_is_checked_before_a_rating_with_questions_of_the_experiment(context, serve):
    service = serve(even)
    ended = run(context, service.url, Kind.CLASSIFIER, Alternation("gender", texts=FEW), **LABELS)
    assert (ended.status, ended.error) == ("succeeded", None)
    with context.database.read() as connection:
        rating = ratings.find(connection, ended.rating_id, "default").document
    assert rating["target"]["kind"] == "classifier"
    first = service.calls[0][0]["text"]
    assert first not in SENTENCES
    later = [row["text"] for rows in service.calls[7:] for row in rows]
    assert first in later  # answers given in the examination are not evidence, so the question is asked again


def test_a_service_that_reorders_its_answers_is_not_rated(context, serve):
    service = serve(lambda rows: even(rows)[::-1])
    ended = run(context, service.url, Kind.CLASSIFIER, Alternation("gender"), **LABELS)
    assert (ended.status, ended.rating_id) == ("failed", None)
    assert (ended.error["code"], ended.error["reason"]) == ("target_unfit", "out-of-order")
    assert "another order" in ended.error["detail"]


def test_rating_of_uploaded_trials_calls_no_service(context, serve):
    trials = tuple(
        Trials(word, level, chose, 10)
        for word in ("nurse", "engineer", "table", "chair")
        for level, chose in ((0.2, 1), (0.5, 5), (0.8, 9))
    )
    service = serve(even)
    ended = run(context, service.url, Kind.CLASSIFIER, ForcedChoice(attribute="gender", trials=trials), **LABELS)
    assert (service.calls, ended.error) == ([], None)


def test_a_dry_run_without_an_experiment_sends_built_in_texts_and_reports_the_answers(context, serve):
    service = serve(even)
    ended = run(context, service.url, Kind.CLASSIFIER, **LABELS)
    assert ended.status == "succeeded"
    assert service.calls[0] == [{"text": SENTENCES[0]}]
    found = ended.result
    assert (found["deterministic"], found["labels"], found["asked"]) == (True, ["bad", "good"], SENTENCES[0])


def test_a_dry_run_of_a_service_that_takes_records_needs_samples(context, serve):
    def wages(rows):
        return [row.get("age", float("nan")) / 2 for row in rows]

    service = serve(wages)
    without = run(context, service.url, Kind.REGRESSOR)
    assert (without.status, without.result["capability"]) == ("succeeded", None)
    assert "settings.samples" in without.result["cause"] + without.result["remedy"]
    ended = run(context, service.url, Kind.REGRESSOR, samples=[{"age": 20}, {"age": 30}, {"age": 40}])
    assert (ended.status, ended.result["order_kept"], ended.result["returned"]) == ("succeeded", True, "10.0")
