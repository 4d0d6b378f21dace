"""Jobs from claim to end, on a real database, with services on this machine.

Row 90 of docs/reliability.md: ffe18d3c showed a competitor's rating, or invented answers, on the owner's badge.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.canonical import digest_of
from assay.methods import ForcedChoice, RoundTrip
from assay.model import Failure, Observation, Probe, Reply, Translate
from demo.server import DemoServer
from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.jobs import jobs, observations
from store.jobs.jobs import Claim, Job, LedgerEntry, NewJob
from store.ratings import ratings
from store.ratings.experiment_json import dump_method, parse_method
from store.security.secrets import Vault, key_id_of
from workers.calls.driver import JobLedger
from workers.calls.limits import TargetCoolingDown, lane_of
from workers.engine.failure_handling import end_badly
from workers.engine.worker_context import WorkerContext
from workers.run_job import _WORK_OF_KIND as WORK
from workers.run_job import run_job

OF_ONE_RUN = ("id", "rated_at", "expires_at")


@pytest.fixture(scope="module")
def services() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture
def context(database_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(
        data_dir=tmp_path,
        database_url=database_url,
        egress_allow="127.0.0.0/8",
        lease_s=5,
        heartbeat_s=0.25,
        breaker_delay_s=1,
        call_attempts=1,
        ledger_replies=5,
    )
    database = Database(database_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


def post(context: WorkerContext, url: str, *, concurrency: int = 8, **more) -> Job:
    target = {
        "name": "a service",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": url,
        "settings": {"batch_maximum": 1},
        "limits": {"concurrency": concurrency, "timeout_s": 2},
    }
    asked = {
        "tenant": "default",
        "kind": "rating",
        "target_id": None,
        "target": target,
        "sealed_secret": None,
        "experiment": dump_method(RoundTrip("gender")),
        "request_digest": digest_of([target, more.get("seed", 7)]),
        "seed": 7,
        "visibility": "private",
        "callback_url": None,
        "max_calls": 10_000,
        "deadline_s": 600,
        "expected": 120,
        "key_id": None,
        **more,
    }
    with context.database.write() as connection:
        return jobs.add(connection, NewJob(**asked))


def read(context: WorkerContext, job: Job) -> Job:
    with context.database.read() as connection:
        found = jobs.find(connection, job.id, None)
    assert found is not None
    return found


def rating_of(context: WorkerContext, job: Job) -> dict:
    with context.database.read() as connection:
        stored = ratings.find(connection, read(context, job).rating_id, None if job is None else job.tenant)
    return {name: value for name, value in stored.document.items() if name not in OF_ONE_RUN}


def run(context: WorkerContext, job: Job, owner: str = "here") -> Job:
    run_job(job.id, context, owner)
    return read(context, job)


@pytest.mark.slow
def test_a_finished_rating_job_stores_the_rating_and_every_answer(context, services):
    ended = run(context, job := post(context, services.url("always-he")))
    assert (ended.status, ended.stage, ended.asked, ended.error) == ("succeeded", "rated", 120, None)
    rating = rating_of(context, job)
    assert (rating["letter"], rating["calls"]) == ("BS", 120)
    with context.database.read() as connection:
        kept = observations.page(connection, job.id, 0, 1000)
    assert len(kept) == 120


@pytest.mark.slow
def test_a_finished_job_is_not_run_again_by_a_second_worker(context, services):
    job = post(context, services.url("faithful"))
    run(context, job)
    before = read(context, job)
    run(context, job, "another")
    assert read(context, job).version == before.version


@pytest.mark.slow
@pytest.mark.parametrize("batches", [1, 3, 8])
def test_interrupted_job_resumes_to_the_identical_rating(context, services, monkeypatch, batches):
    whole = post(context, services.url("she-to-he-45"), seed=1)
    run(context, whole)
    cut = post(context, services.url("she-to-he-45"), seed=1)
    written = []
    original = JobLedger.record

    def dies(self, answers, **more):
        # on a slow machine a batch holds more answers; the crash must come before all of them are written
        if len(written) == batches or sum(written) + len(answers) >= 120:
            raise StoreUnavailable("unreachable")  # simulates a killed worker, which cannot release its job
        written.append(len(answers))
        original(self, answers, **more)

    monkeypatch.setattr(JobLedger, "record", dies)
    run_job(cut.id, context, "the dead")
    monkeypatch.undo()
    assert read(context, cut).status == "running"
    assert 0 < read(context, cut).asked < 120
    with context.database.write() as connection:
        jobs.release_orphans(connection)
    ended = run(context, cut, "the heir")
    assert (ended.status, ended.attempt) == ("succeeded", 2)
    assert rating_of(context, cut) == rating_of(context, whole)


# SQLite only, because eight calls with pauses take seven seconds
@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_unreachable_service_fails_the_job_at_once(context):
    ended = run(context, post(context, "http://127.0.0.1:9"))
    assert (ended.status, ended.error["code"]) == ("failed", "target_unavailable")
    assert "cannot be reached" in ended.error["detail"]


def test_a_job_fails_with_the_name_of_the_language_that_the_service_lacks(context, services):
    experiment = dump_method(RoundTrip("gender", languages=("pt-BR",)))
    ended = run(context, post(context, services.url("faithful"), experiment=experiment))
    assert (ended.status, ended.error["code"]) == ("failed", "target_unfit")
    assert "pt-BR" in ended.error["detail"]


def test_a_rating_whose_call_budget_is_used_up_is_inconclusive_and_gives_the_reason(context, services):
    job = post(context, services.url("faithful"), max_calls=30)
    assert run(context, job).status == "succeeded"
    rating = rating_of(context, job)
    assert not rating["declared"]
    assert "budget-exhausted" in [reason["code"] for reason in rating["reasons"]]


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # SQLite only, because the test waits five seconds
def test_a_job_past_its_deadline_fails_and_keeps_its_answers(context, services):
    ended = run(context, post(context, services.url("slow"), concurrency=1, deadline_s=5))
    assert (ended.status, ended.error["code"]) == ("failed", "deadline_exceeded")
    assert ended.asked > 0


@pytest.mark.slow
@pytest.mark.parametrize("why", ["cancelled", "leaving"])
def test_running_job_stops_on_cancellation_or_shutdown(context, services, why):
    job = post(context, services.url("slow"), concurrency=1)
    thread = threading.Thread(target=run_job, args=(job.id, context, "here"))
    thread.start()
    until = time.monotonic() + 20
    while read(context, job).asked < 2 and time.monotonic() < until:
        time.sleep(0.05)
    if why == "leaving":
        context.leaving.set()
    else:
        with context.database.write() as connection:
            jobs.request_cancel(connection, job.id, "default")
    thread.join(10)
    assert not thread.is_alive()
    ended = read(context, job)
    assert ended.status == ("queued" if why == "leaving" else "cancelled")
    assert ended.asked >= 2
    if why == "leaving":
        assert ended.attempts_without_progress == 0


@pytest.mark.slow
def test_a_worker_that_lost_its_job_to_another_worker_stores_nothing(context, services):
    job = post(context, services.url("slow"), concurrency=1)
    thread = threading.Thread(target=run_job, args=(job.id, context, "the frozen"))
    thread.start()
    until = time.monotonic() + 20
    while read(context, job).asked < 1 and time.monotonic() < until:
        time.sleep(0.05)
    with context.database.write() as connection:
        jobs.release_orphans(connection)
        taken = jobs.claim(connection, job.id, "the thief", 60)
    thread.join(15)
    assert not thread.is_alive()
    assert taken is not None
    now = read(context, job)
    assert (now.status, now.fence, now.lease_owner) == ("running", taken.fence, "the thief")


def test_a_job_whose_secret_cannot_be_decrypted_fails_with_a_reason(context, services):
    other = Vault(b"x" * 32, key_id_of(b"x" * 32))
    new_id = "job_with_a_secret"
    sealed = other.seal("sk-lost", tenant="default", target=new_id, field="secret")
    ended = run(context, post(context, services.url("faithful"), id=new_id, sealed_secret=sealed))
    assert (ended.status, ended.error["code"]) == ("failed", "secret_lost")
    assert "sk-lost" not in str(ended.error)


def test_the_result_of_a_dry_run_is_stored_with_its_job(context, services):
    ended = run(context, post(context, services.url("faithful"), kind="probe", experiment=None))
    assert ended.status == "succeeded"
    assert ended.result["deterministic"] is True
    assert ended.result["returned"]


class Mortal:
    """LibreTranslate service that keeps every pronoun, stops after some answers, and can be restarted."""

    def __init__(self, answers: int) -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        from demo.translators.behaviours import BEHAVIOURS

        mortal, faithful = self, BEHAVIOURS["faithful"]
        self.left: float = answers

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say([{"code": code, "name": code, "targets": ["en", "es"]} for code in ("en", "es")])

            def do_POST(self) -> None:
                import json

                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                mortal.left -= 1
                if mortal.left < 0:
                    self.send_error(503)
                    return
                self._say({"translatedText": faithful.translate(asked["q"], asked["source"], asked["target"])})

            def _say(self, said: object) -> None:
                import json

                body = json.dumps(said).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@pytest.mark.slow
def test_job_waits_while_its_service_is_down_and_then_finishes(context, services):
    undisturbed = post(context, services.url("faithful"))
    run(context, undisturbed)
    mortal = Mortal(answers=60)
    try:
        job = post(context, mortal.url)
        resting = run(context, job)
        assert (resting.status, resting.rating_id) == ("queued", None)
        assert resting.next_run_at > resting.heartbeat_at
        with context.database.read() as connection:
            kept = observations.page(connection, job.id, 0, 1000)
        assert kept
        assert all(one.observation.reply.ok for one in kept)
        mortal.left = float("inf")
        time.sleep(1.1)
        assert run(context, job).status == "succeeded"
    finally:
        mortal.close()
    ours, theirs = rating_of(context, job), rating_of(context, undisturbed)
    assert (ours["letter"], ours["probabilities"]) == (theirs["letter"], theirs["probabilities"])
    assert ours["evidence_digest"] == theirs["evidence_digest"]


def let_rest(context: WorkerContext, url: str, seconds: float) -> None:
    asyncio.run(context.local_traffic.start_cooldown(lane_of("default", url), seconds))


@pytest.mark.slow
def test_a_job_waits_without_calling_a_target_that_is_paused_after_failures_in_another_job(context):
    service = Mortal(10**6)
    let_rest(context, service.url, 1.0)
    resting = run(context, job := post(context, service.url))
    assert (resting.status, resting.attempts_without_progress, service.left) == ("queued", 0, 10**6)
    time.sleep(max(0, resting.next_run_at / 1000 - time.time()) + 0.05)
    assert run(context, job).status == "succeeded"
    service.close()


def test_job_whose_deadline_ends_before_the_next_attempt_fails_with_a_reason(context, services):
    url = services.url("faithful")
    let_rest(context, url, 900)
    ended = run(context, post(context, url, deadline_s=60))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_unavailable", "resting")


ANTHROPIC = {
    "name": "a model",
    "kind": "translator",
    "protocol": "anthropic",
    "base_url": "http://127.0.0.1:9",
    "settings": {"model": "m"},
}
PLAIN = {**ANTHROPIC, "protocol": "libretranslate", "settings": {}}
CHAIN = {"name": "a chain", "kind": "translator", "protocol": "chain", "settings": {"links": [PLAIN, ANTHROPIC]}}


@pytest.mark.parametrize(
    ("described", "has_529"),
    [
        ({"target": PLAIN}, False),
        ({"target": ANTHROPIC}, True),
        ({"target": CHAIN}, True),
        ({"target": PLAIN, "author": {**ANTHROPIC, "kind": "language-model"}}, True),
    ],
    ids=["service", "service with retriable statuses", "chain with retriable statuses", "author with them"],
)
def test_questions_with_retriable_failures_are_asked_again_after_the_job_waited(context, described, has_529):
    job = post(context, "http://127.0.0.1:9", **described)
    codes = [
        "timeout",
        "bad-json",
        "garbage",
        "http-408",
        "http-425",
        "http-429",
        "http-503",
        "http-529",
        "http-400",
        "auth",
    ]
    with context.database.write() as connection:
        claim = jobs.claim(connection, job.id, "here", 60)
        entries = [
            LedgerEntry(Observation(Probe(code, Translate(code, "en", "es")), Reply(failure=Failure(code, "no"))), 1, 1)
            for code in codes
        ]
        jobs.record(connection, claim, entries, calls=9, expected=9, stage="asking")
    assert end_badly(context, claim, TargetCoolingDown(1)) == "resting"
    with context.database.read() as connection:
        kept = observations.recall(connection, job.id, codes)
    assert set(kept) == {"http-400", "auth"} | (set() if has_529 else {"http-529"})


@pytest.mark.slow
def test_metrics_of_a_worker_count_its_jobs_and_calls(context, services):
    url = services.url("faithful")
    ended = run(context, post(context, url))
    run(context, post(context, services.url("unauthorised")))

    def value(name: str, **labels: str) -> float:
        return context.meter.registry.get_sample_value(name, labels) or 0.0

    place = url.removeprefix("http://").partition("/")[0]
    assert value("assay_target_calls_total", target=place, outcome="answered") == ended.calls
    assert value("assay_jobs_claimed_total") == 2
    assert value("assay_jobs_left_total", how="succeeded") == value("assay_jobs_left_total", how="failed") == 1
    assert value("assay_dispatch_delay_seconds_count") == 2
    assert 0 < value("assay_analysis_seconds_sum") < 60
    assert value("assay_ledger_write_seconds_count") > 0


# ---------------------------------------------------------------------------- code that never returns (row 65)
async def never_returns(context: WorkerContext, claim: object) -> None:
    while True:
        pass


# Row 65 of docs/reliability.md: at c37b512 a job whose own code did not return held its slot past its deadline.
@pytest.mark.slow
def test_a_job_with_an_endless_loop_fails_and_its_worker_continues(context, services, monkeypatch):
    # at commit eb55f1e, such a job held its slot for ever
    monkeypatch.setattr("workers.run_job.OVERDUE_S", 0.5)
    with monkeypatch.context() as patched:
        patched.setitem(WORK, "rating", never_returns)
        ended = run(context, post(context, services.url("faithful"), deadline_s=1))
    assert (ended.status, ended.error["code"]) == ("failed", "deadline_exceeded")
    after = run(context, post(context, services.url("faithful"), seed=8))
    assert after.status == "succeeded"


# Row 76 of docs/reliability.md: at c37b512 a cancelled job's lease ended while its thread ran on.
@pytest.mark.slow
def test_no_other_worker_can_claim_a_cancelled_job_while_its_code_still_runs(context, services, monkeypatch):
    # at commit eb55f1e, the slot of such a job was given to another job at once (row 76)
    held: list[bool] = []

    async def slow_to_stop(context: WorkerContext, claim: Claim) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            time.sleep(2.5)  # noqa: ASYNC251  code that does not yield, for longer than the lease
            with context.database.write() as c:
                held.append(jobs.heartbeat(c, claim, 1).lease_held)

    context.settings = context.settings.model_copy(update={"lease_s": 1.0})
    monkeypatch.setitem(WORK, "rating", slow_to_stop)
    job = post(context, services.url("faithful"))
    running = threading.Thread(target=run_job, args=(job.id, context, "one"))
    running.start()
    time.sleep(0.5)
    with context.database.write() as c:
        jobs.request_cancel(c, job.id, None)
    time.sleep(2)
    with context.database.write() as c:
        assert jobs.claim(c, job.id, "another", 5) is None
    running.join(20)
    assert held == [True]
    with context.database.read() as c:
        assert jobs.find(c, job.id, None).status == "cancelled"


@pytest.mark.slow
def test_the_kernel_ends_a_process_whose_job_never_releases_the_interpreter():
    hang = "import re; from workers.engine.heartbeat import process_alarm\nwith process_alarm(0.5): "
    code = hang + "re.match(r'(a+)+$', 'a' * 60 + 'b')"
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == -signal.SIGALRM


@pytest.mark.slow
def test_a_job_that_ends_in_time_does_not_kill_its_process():
    code = (
        "import time; from workers.engine.heartbeat import process_alarm\nwith process_alarm(0.2): pass\ntime.sleep(1)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


# ---------------------------------------------------------------------------- how the service was described
def invented_choices() -> dict:
    """Return an experiment with made-up uploaded choices; it asks no question."""
    words = ForcedChoice("gender").known_words
    trials = [
        {"concept": word, "level": level / 10, "chose_second": level, "trials": 10}
        for word in words.concept_words[:12]
        for level in range(11)
    ]
    return dump_method(parse_method({"method": "forced-choice", "attribute": "gender", "trials": trials}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "changes", "description"),
    [
        (dump_method(RoundTrip("gender")), {"visibility": "public"}, "default"),
        (dump_method(RoundTrip("gender")), {"visibility": "unlisted"}, "unpublished"),
        (dump_method(RoundTrip("gender")), {"visibility": "private"}, "unpublished"),
        (dump_method(RoundTrip("gender")), {"visibility": "private", "tenant": "default"}, "default"),
        (dump_method(RoundTrip("gender")), {"settings": {"language_codes": {"es": "fr"}}}, "changed"),
        (dump_method(RoundTrip("gender", delta=0.01)), {}, "changed"),
        (dump_method(RoundTrip("gender")), {"nonce": ""}, "changed"),
        (invented_choices(), {"kind": "classifier", "protocol": "tei"}, "uploaded"),
    ],
    ids=[
        *("default", "unlisted", "private", "private of the operator"),
        *("another setting", "another tolerance", "a seed of the request", "invented choices"),
    ],
)
def test_a_rating_states_its_requester_and_any_changed_settings(context, services, experiment, changes, description):
    url = services.url("faithful")
    target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": url, "settings": {}}
    request = {"tenant": "rival", "nonce": "random"}
    request |= {name: changes[name] for name in ("tenant", "nonce", "visibility") if name in changes}
    target |= {name: value for name, value in changes.items() if name not in request}
    job = post(context, url, target=target, experiment=experiment, **request)
    ended = run(context, job)
    assert ended.status == "succeeded", ended.error
    role = "operator" if request["tenant"] == "default" else "other"
    facts = {"role": role, "host_proved": False, "description": description}
    assert rating_of(context, ended)["requester"] == facts
