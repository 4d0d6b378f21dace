"""A job that rates a deciding model and is interrupted ends with the rating of an uninterrupted job."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.methods import Alternation
from assay.methods.shared.profiles import TextProfiles
from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import Job
from store.ratings import ratings
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from tests.support.jobs import new_job
from tests.support.scripted_server import Heard, scripted_server
from tests.unit.workers.targets.test_deciding_models import chat, last_message
from workers.calls.driver import JobLedger
from workers.engine.worker_context import WorkerContext
from workers.run_job import run_job

OF_ONE_RUN = ("id", "rated_at", "expires_at")


@pytest.fixture
def context(sqlite_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(
        data_dir=tmp_path, database_url=sqlite_url, egress_allow="127.0.0.0/8", call_attempts=1, ledger_replies=5
    )
    database = Database(sqlite_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


def answer(request: Heard) -> Any:
    """Answer by the case: most with probabilities, some without them, some not at all; some late."""
    case = last_message(request).split("Answer with")[0]
    number = int(hashlib.sha256(case.encode()).hexdigest(), 16)
    time.sleep(number % 11 / 500)
    if number % 13 == 0:
        return chat("Well, who knows.")
    if "one letter" in last_message(request):
        return chat("AB"[number % 2])
    label, other_label = ("yes", "no") if number % 7 < 4 else ("no", "yes")
    return chat(label, {label: 0.9, other_label: 0.1} if number % 3 else None)


def rating_of(context: WorkerContext, job: Job) -> dict[str, Any]:
    with context.database.read() as connection:
        ended = jobs.find(connection, job.id, None)
        assert ended is not None
        assert ended.status == "succeeded"
        stored = ratings.find(connection, ended.rating_id, "default")
    return {name: value for name, value in stored.document.items() if name not in OF_ONE_RUN}


@pytest.mark.slow
@pytest.mark.parametrize("writes_before_the_crash", [1, 4])
def test_an_interrupted_job_reads_a_deciding_model_as_before_and_ends_with_the_same_rating(
    context, monkeypatch, writes_before_the_crash
):
    experiment = dump_method(
        Alternation("gender", answers="labels", texts=TextProfiles(decision="hiring", most=60), profiles=100)
    )
    with scripted_server(answer) as url:
        settings = {"model": "m", "decision": {"name": "hiring"}}
        target = {"name": "m", "kind": "classifier", "protocol": "openai-chat", "base_url": url, "settings": settings}
        limits = {"concurrency": 8, "timeout_s": 5}
        fields = {"target": {**target, "limits": limits}, "experiment": experiment, "expected": 100}
        with context.database.write() as connection:
            whole = jobs.add(connection, new_job(**fields))
        run_job(whole.id, context, "a worker")
        with context.database.write() as connection:
            cut = jobs.add(connection, new_job(**fields))
        writes: list[int] = []
        original = JobLedger.record

        def die(ledger, answers, **more):
            if len(writes) == writes_before_the_crash:
                raise StoreUnavailable("unreachable")
            writes.append(len(answers))
            original(ledger, answers, **more)

        monkeypatch.setattr(JobLedger, "record", die)
        run_job(cut.id, context, "a worker that dies")
        monkeypatch.undo()
        with context.database.write() as connection:
            jobs.release_orphans(connection)
        run_job(cut.id, context, "its heir")
        assert rating_of(context, cut) == rating_of(context, whole)
