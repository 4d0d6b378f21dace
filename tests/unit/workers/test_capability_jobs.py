"""A job examines its target with its own questions; a dry run with those of the settings, or of ours."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from assay.cases import TextProfiles
from assay.certificate import digest_of
from assay.methods import Alternation, ForcedChoice, fit_to
from assay.model import Kind
from assay.trials import Trials
from store import jobs, ratings
from store.database import Database
from store.jobs import Job, NewJob
from store.secrets import Vault
from store.settings import Settings
from store.specification import dump_method
from workers.run_job import run_job
from workers.targets.samples import SENTENCES
from workers.workplace import Workplace


class Scoring:
    """An MLflow server on this machine that remembers the rows of every call."""

    def __init__(self, predict: Callable[[list[dict[str, Any]]], list[Any]]) -> None:
        scoring = self
        self.calls: list[list[dict[str, Any]]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                table = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["dataframe_split"]
                rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
                scoring.calls.append(rows)
                said = json.dumps({"predictions": predict(rows)}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def even(rows: list[dict[str, Any]]) -> list[Any]:
    """Score a text by its words for what happens, whoever it happens to."""
    scores = [(sum(map(ord, row["text"].split()[-1])) % 10) / 10 for row in rows]
    return [[1 - score, score] for score in scores]


@pytest.fixture
def serve() -> Iterator[Callable[..., Scoring]]:
    serving: list[Scoring] = []

    def start(predict: Callable[[list[dict[str, Any]]], list[Any]]) -> Scoring:
        serving.append(Scoring(predict))
        return serving[-1]

    yield start
    for each in serving:
        each.close()


@pytest.fixture
def workplace(database_url: str, tmp_path: Path) -> Iterator[Workplace]:
    settings = Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8", call_attempts=1)
    database = Database(database_url)
    yield Workplace(database, Vault.from_settings(settings), settings)
    database.close()


def run(workplace: Workplace, url: str, kind: Kind, method: Any = None, **settings: Any) -> Job:
    """Post a job on a target of that kind and carry it out; without a method it is a dry run."""
    target = {"name": "T", "kind": kind.value, "protocol": "mlflow", "base_url": url, "settings": settings}
    new = NewJob(
        tenant="default",
        kind="rating" if method else "probe",
        target_id=None,
        target=target,
        sealed_secret=None,
        experiment=dump_method(fit_to(method, kind)) if method else None,
        request_digest=digest_of([target, str(method)]),
        seed=7,
        visibility="private",
        callback_url=None,
        max_calls=10_000,
        deadline_s=600,
        expected=100,
        key_id=None,
    )
    with workplace.database.write() as connection:
        job = jobs.add(connection, new)
    run_job(job.id, workplace, "here")
    with workplace.database.read() as connection:
        ended = jobs.find(connection, job.id, None)
    assert ended is not None
    return ended


LABELS = {"labels": ["bad", "good"]}
FEW = TextProfiles(
    ("{person} is {content}.",),
    {"he": tuple(f"Mr {n}" for n in range(10)), "she": tuple(f"Ms {n}" for n in range(10))},
    {"glad": tuple(f"glad-{n}" for n in range(8)), "sad": tuple(f"sad-{n}" for n in range(8))},
)
"""Few texts: each is a call."""


def test_a_rating_examines_its_target_with_questions_of_the_experiment(workplace, serve):
    service = serve(even)
    ended = run(workplace, service.url, Kind.CLASSIFIER, Alternation("gender", texts=FEW), **LABELS)
    assert (ended.status, ended.error) == ("succeeded", None)
    with workplace.database.read() as connection:
        rating = ratings.find(connection, ended.rating_id, "default").document
    assert rating["target"]["kind"] == "classifier"
    first = service.calls[0][0]["text"]
    assert first not in SENTENCES
    later = [row["text"] for rows in service.calls[7:] for row in rows]
    assert first in later  # what was asked in the examination is no evidence: it is asked again


def test_a_service_that_mixes_up_its_answers_is_not_rated(workplace, serve):
    service = serve(lambda rows: even(rows)[::-1])
    ended = run(workplace, service.url, Kind.CLASSIFIER, Alternation("gender"), **LABELS)
    assert (ended.status, ended.rating_id) == ("failed", None)
    assert (ended.error["code"], ended.error["reason"]) == ("target_unfit", "out-of-order")
    assert "another order" in ended.error["detail"]


def test_choices_that_were_already_made_need_no_examination(workplace, serve):
    trials = tuple(
        Trials(word, level, chose, 10)
        for word in ("nurse", "engineer", "table", "chair")
        for level, chose in ((0.2, 1), (0.5, 5), (0.8, 9))
    )
    service = serve(even)
    ended = run(workplace, service.url, Kind.CLASSIFIER, ForcedChoice(attribute="gender", trials=trials), **LABELS)
    assert (service.calls, ended.error) == ([], None)


def test_a_dry_run_tries_texts_of_ours_and_tells_what_it_saw(workplace, serve):
    service = serve(even)
    ended = run(workplace, service.url, Kind.CLASSIFIER, **LABELS)
    assert ended.status == "succeeded"
    assert service.calls[0] == [{"text": SENTENCES[0]}]
    found = ended.result
    assert (found["deterministic"], found["labels"], found["asked"]) == (True, ["bad", "good"], SENTENCES[0])


def test_a_dry_run_of_a_service_that_takes_records_needs_samples(workplace, serve):
    def wages(rows):
        return [row.get("age", float("nan")) / 2 for row in rows]

    service = serve(wages)
    without = run(workplace, service.url, Kind.REGRESSOR)
    assert (without.status, without.error["code"]) == ("failed", "target_unfit")
    assert "settings.samples" in without.error["detail"]
    ended = run(workplace, service.url, Kind.REGRESSOR, samples=[{"age": 20}, {"age": 30}, {"age": 40}])
    assert (ended.status, ended.result["order_kept"], ended.result["returned"]) == ("succeeded", True, "10.0")
