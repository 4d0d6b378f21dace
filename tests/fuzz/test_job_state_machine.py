"""Stateful test of jobs: random sequences of events, compared with a model after every step.

Callers use the whole service; the test performs the steps of workers: claim, record, finish, fail, release,
die, and write after a lost lease. After every step each job must equal the model in its row, its history, its
ledger and over HTTP.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from jsonschema import Draft202012Validator
from sqlalchemy import delete, select

from service.app import create_app
from store.core.errors import LeaseLost
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs import tables as job_tables
from store.jobs.job import Job
from store.jobs.leases import Claim
from store.ratings.tables import ratings as rating_rows
from store.ratings.tables import service_ratings, unsigned_ratings
from store.security import keys
from store.targets.tables import targets as target_rows
from store.webhooks.tables import outbox as notice_rows
from workers.engine.reconciler import reconcile
from workers.targets.registry import TargetChecker

CAP = 2
"""Attempts without a new reply after which a job fails here: few, so that random sequences reach the limit."""
MOST_ALIVE = 2
"""Maximum of unfinished jobs at a time: with more jobs, each would see few events."""
TARGET = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": "http://127.0.0.1:5000"}
ENDINGS = {"succeeded", "failed", "cancelled"}


def among(name: str) -> st.SearchStrategy[Any]:
    """Draw an item of the state machine's list `name`; the rule also needs `there_are` for this list."""
    return st.runner().flatmap(lambda machine: st.sampled_from(getattr(machine, name)))


def there_are(name: str) -> Any:
    """Return a precondition: run a rule only if the state machine's list `name` is not empty."""
    return precondition(lambda machine: bool(getattr(machine, name)))


SEEDS, REPEAT_KEYS = st.integers(0, 2), st.sampled_from([None, "a", "b"])
ANSWERS = st.dictionaries(st.sampled_from("uvwxyz"), st.booleans(), max_size=4)


# ---------------------------------------------------------------------------- callers
class Callers:
    """Two tenants of the service; every answer is checked against the OpenAPI document.

    The document's `default` answer is ignored: only explicit statuses count as documented.
    """

    def __init__(self, app: Any, runner: asyncio.Runner, mine: str, theirs: str) -> None:
        self._runner, self._tokens = runner, {"mine": mine, "theirs": theirs}
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")
        self._document = app.openapi()
        self._operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, methods in self._document["paths"].items()
            for method, operation in methods.items()
        }
        self._validators: dict[tuple[str, str], Draft202012Validator] = {}

    def ask(
        self, name: str, who: str = "mine", body: Any = None, headers: dict[str, str] | None = None, **path: str
    ) -> httpx.Response:
        """Send one request and check that its answer is a documented one."""
        method, template, operation = self._operations[name]
        sent = {"Authorization": f"Bearer {self._tokens[who]}", **(headers or {})}
        request = self._client.request(method, template.format(**path), json=body, headers=sent)
        answer = self._runner.run(request)
        self._check(name, operation, answer)
        return answer

    def _check(self, name: str, operation: dict[str, Any], answer: httpx.Response) -> None:
        status = str(answer.status_code)
        assert answer.status_code < 500, answer.text
        assert status in operation["responses"], f"{name} is not documented to answer {status}: {answer.text}"
        response = operation["responses"][status]
        if "$ref" in response:
            response = self._document["components"]["responses"]["Problem"]
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        if not answer.content:
            assert "content" not in response, f"{name} is documented to answer {status} with a body"
        elif media_type.endswith("json"):
            self._validator(name, status, response["content"][media_type]["schema"]).validate(answer.json())

    def _validator(self, name: str, status: str, wanted: dict[str, Any]) -> Draft202012Validator:
        if (name, status) not in self._validators:
            whole = {**wanted, "components": self._document["components"]}
            self._validators[name, status] = Draft202012Validator(whole)
        return self._validators[name, status]


# ---------------------------------------------------------------------------- the model
@dataclass
class Expected:
    """Expected state of a job."""

    id: str
    asked_for: tuple[int, str | None]
    status: str = "queued"
    cancel_requested: bool = False
    dispatched: bool = False
    silent: bool = False
    """Whether the lease of the job's worker has ended."""
    fence: int = 0
    barren: int = 0
    """Attempts since the last new reply was recorded."""
    ledger: dict[str, bool] = field(default_factory=dict)
    calls: int = 0
    seen: Job | None = None
    """The job's row after the previous step."""

    @property
    def finished(self) -> bool:
        return self.status in ENDINGS

    @property
    def claimable(self) -> bool:
        return self.status == "queued" or self.silent

    @property
    def buried(self) -> bool:
        return self.claimable and self.barren >= CAP

    def end(self, status: str) -> None:
        self.status, self.silent = status, False

    def holds(self, claim: Claim) -> bool:
        return self.status == "running" and claim.fence == self.fence


@dataclass
class Kept:
    """The first request with an Idempotency-Key, and its answer."""

    asked_for: tuple[Any, ...]
    answer: httpx.Response


class Rung(list[str]):
    """A dispatcher that only records the ids of the announced jobs."""

    def __call__(self, job_id: str) -> None:
        self.append(job_id)

    def count_waiting(self) -> int:
        return 0


class JobsOfATenant(RuleBasedStateMachine):
    """The rules of the state machine; the test sets `place` to the service, the worker and the database."""

    place: SimpleNamespace

    def __init__(self) -> None:
        super().__init__()
        self.expected: dict[str, Expected] = {}
        self.claims: list[Claim] = []
        self.targets: list[str] = []
        self.kept: dict[str, Kept] = {}
        self.removed: set[str] = set()
        self.rated: dict[tuple[int, str | None], str] = {}
        self.rung = Rung()

    # ------------------------------------------------------------------------ lists for rules
    @property
    def all_jobs(self) -> list[str]:
        return list(self.expected)

    @property
    def alive(self) -> list[str]:
        return [one.id for one in self.expected.values() if not one.finished]

    @property
    def ended(self) -> list[str]:
        return [one.id for one in self.expected.values() if one.finished]

    @property
    def running(self) -> list[str]:
        return [one.id for one in self.expected.values() if one.status == "running"]

    @property
    def live_claims(self) -> list[Claim]:
        """Claims of unfinished jobs, including claims that were taken over."""
        return [claim for claim in self.claims if not self.expected[claim.job.id].finished]

    @property
    def dead_claims(self) -> list[Claim]:
        return [claim for claim in self.claims if self.expected[claim.job.id].finished]

    @property
    def used_keys(self) -> list[str]:
        return list(self.kept)

    @property
    def has_room(self) -> bool:
        return len(self.alive) < MOST_ALIVE

    # ------------------------------------------------------------------------ callers
    @precondition(lambda self: len(self.targets) < MOST_ALIVE)
    @rule()
    def save_a_target(self) -> None:
        answer = self.place.callers.ask("saveTarget", body=TARGET)
        assert answer.status_code == 201
        self.targets.append(answer.json()["id"])

    @there_are("targets")
    @rule(target_id=among("targets"))
    def remove_a_target(self, target_id: str) -> None:
        answer = self.place.callers.ask("removeTarget", target_id=target_id)
        assert answer.status_code == (404 if target_id in self.removed else 204)
        self.removed.add(target_id)
        assert self.place.callers.ask("getTarget", target_id=target_id).status_code == 404

    @there_are("has_room")
    @rule(seed=SEEDS, key=REPEAT_KEYS, age=st.sampled_from([0, None]))
    def submit(self, seed: int, key: str | None, age: int | None) -> None:
        self._submit(TARGET, (seed, None), key, age)

    @there_are("has_room")
    @there_are("targets")
    @rule(seed=SEEDS, key=REPEAT_KEYS, target_id=among("targets"))
    def submit_for_a_saved_target(self, seed: int, key: str | None, target_id: str) -> None:
        self._submit({"id": target_id}, (seed, target_id), key, 0)

    @there_are("kept")
    @rule(key=among("used_keys"))
    def submit_the_same_again(self, key: str) -> None:
        seed, target_id, age = self.kept[key].asked_for
        self._submit(TARGET if target_id is None else {"id": target_id}, (seed, target_id), key, age)

    def _submit(
        self, target: dict[str, Any], asked_for: tuple[int, str | None], key: str | None, age: int | None
    ) -> None:
        experiment = {"method": "round-trip", "attribute": "gender"}
        body = {"target": target, "experiment": experiment, "seed": asked_for[0], "max_age_s": age}
        answer = self.place.callers.ask("requestRating", body=body, headers={"Idempotency-Key": key} if key else {})
        if key in self.kept:  # a repeated request gets the first answer, even if its target was removed since
            self._repeated(self.kept[key], (*asked_for, age), answer)
        elif asked_for[1] in self.removed:
            assert (answer.status_code, answer.json()["code"]) == (422, "bad-specification")
        else:
            assert answer.status_code == 202
            if key is not None:
                self.kept[key] = Kept((*asked_for, age), answer)
            self._accepted(answer.json(), asked_for, age)

    @staticmethod
    def _repeated(first: Kept, asked_for: tuple[Any, ...], answer: httpx.Response) -> None:
        if first.asked_for != asked_for:
            assert (answer.status_code, answer.json()["code"]) == (422, "idempotency-mismatch")
            return
        assert (answer.status_code, answer.content) == (first.answer.status_code, first.answer.content)
        assert answer.headers["Location"] == first.answer.headers["Location"]
        assert answer.headers["Idempotency-Replayed"] == "true"

    def _accepted(self, told: dict[str, Any], asked_for: tuple[int, str | None], age: int | None) -> None:
        twins = [
            one.id
            for one in self.expected.values()
            if one.asked_for == asked_for and not one.finished and not one.cancel_requested
        ]
        if age is None and asked_for in self.rated:
            assert (told["status"], told["rating"]["id"]) == ("succeeded", self.rated[asked_for])
            assert told["id"] not in self.expected
            self.expected[told["id"]] = Expected(told["id"], asked_for, "succeeded")
        elif twins:
            assert told["id"] == twins[-1]
        else:
            assert (told["status"], told["queue_position"] is None) == ("queued", False)
            assert told["id"] not in self.expected
            self.expected[told["id"]] = Expected(told["id"], asked_for)

    @there_are("all_jobs")
    @rule(job_id=among("all_jobs"))
    def poll_with_what_is_held(self, job_id: str) -> None:
        first = self.place.callers.ask("getJob", job_id=job_id)
        again = self.place.callers.ask("getJob", job_id=job_id, headers={"If-None-Match": first.headers["ETag"]})
        assert (first.status_code, again.status_code) == (200, 304)
        assert ("Retry-After" in first.headers) is not self.expected[job_id].finished

    @there_are("alive")
    @rule(job_id=among("alive"))
    def cancel_what_goes_on(self, job_id: str) -> None:
        self._cancel(job_id)

    @there_are("ended")
    @rule(job_id=among("ended"))
    def cancel_what_has_ended(self, job_id: str) -> None:
        self._cancel(job_id)

    def _cancel(self, job_id: str) -> None:
        one = self.expected[job_id]
        held = {"If-None-Match": self.place.callers.ask("getJob", job_id=job_id).headers["ETag"]}
        answer = self.place.callers.ask("cancelJob", job_id=job_id)
        changed = not one.finished and not one.cancel_requested
        assert answer.status_code == (409 if one.finished else 200)
        if one.status == "queued":
            one.end("cancelled")
        one.cancel_requested = one.cancel_requested or changed
        again = self.place.callers.ask("getJob", job_id=job_id, headers=held)
        assert again.status_code == (200 if changed else 304)

    @there_are("all_jobs")
    @rule(job_id=among("all_jobs"))
    def ask_as_somebody_else(self, job_id: str) -> None:
        for name in ("getJob", "cancelJob", "followJob", "listObservations", "downloadObservationsCsv"):
            assert self.place.callers.ask(name, "theirs", job_id=job_id).status_code == 404
        assert self.place.callers.ask("listJobs", "theirs").json()["items"] == []

    # ------------------------------------------------------------------------ workers
    @there_are("alive")
    @rule(job_id=among("alive"))
    def claim(self, job_id: str) -> None:
        """Deliver a broker message, possibly again."""
        self._claim(job_id)

    @there_are("alive")
    @rule(job_id=among("alive"), answers=ANSWERS, calls=SEEDS)
    def work(self, job_id: str, answers: dict[str, bool], calls: int) -> None:
        """Claim a job if needed, and record replies."""
        self._claim(job_id)
        for claim in self.claims:
            if self.expected[job_id].holds(claim) and claim.job.id == job_id:
                self.record(claim, answers, calls)

    @there_are("ended")
    @rule(job_id=among("ended"))
    def claim_what_has_ended(self, job_id: str) -> None:
        """Deliver a broker message for a finished job."""
        self._claim(job_id)

    @there_are("running")
    @rule(job_id=among("running"))
    def take_over(self, job_id: str) -> None:
        """Expire the lease of a worker, and claim the job with another worker."""
        self.kill_every_worker()
        self._claim(job_id)

    def _claim(self, job_id: str) -> None:
        one, claim = self.expected[job_id], self.place.hand.claim(job_id)
        assert (claim is not None) == (one.claimable and not one.cancel_requested)
        if not one.claimable:
            return
        one.fence += 1
        one.barren += 1
        one.dispatched = False
        if claim is None:
            one.end("cancelled")
            return
        assert claim.fence == one.fence
        one.status, one.silent = "running", False
        self.claims.append(claim)

    @there_are("live_claims")
    @rule(claim=among("live_claims"), answers=ANSWERS, calls=SEEDS)
    def record(self, claim: Claim, answers: dict[str, bool], calls: int) -> None:
        one = self.expected[claim.job.id]
        if self._is_lost(claim, lambda: self.place.hand.record(claim, list(answers.items()), calls)):
            return
        if answers.keys() - one.ledger.keys():
            one.barren = 0
        one.ledger |= answers
        one.calls += calls

    @there_are("live_claims")
    @rule(claim=among("live_claims"))
    def finish(self, claim: Claim) -> None:
        one = self.expected[claim.job.id]
        if not self._is_lost(claim, lambda: self.place.hand.finish(claim)):
            one.end("succeeded")
            self.rated[one.asked_for] = self._row(one.id).rating_id

    @there_are("live_claims")
    @rule(claim=among("live_claims"))
    def fail(self, claim: Claim) -> None:
        if not self._is_lost(claim, lambda: self.place.hand.fail(claim)):
            self.expected[claim.job.id].end("failed")

    @there_are("live_claims")
    @rule(claim=among("live_claims"))
    def beat(self, claim: Claim) -> None:
        """Send a heartbeat; cancel the job if that was requested."""
        one = self.expected[claim.job.id]
        with self.place.hand.database.write() as c:
            beat = jobs.heartbeat(c, claim, self.place.hand.LEASE_S)
        held = one.holds(claim)
        ended_under_it = one.finished and claim.fence == one.fence  # the claim ended with the job
        assert (beat.lease_held, beat.cancel_requested) == (held or ended_under_it, held and one.cancel_requested)
        if not held:
            return
        one.silent = False
        if beat.cancel_requested:
            assert not self._is_lost(claim, lambda: self._in_a_transaction(jobs.cancel, claim))
            one.end("cancelled")

    @there_are("live_claims")
    @rule(claim=among("live_claims"), charged=st.booleans())
    def release(self, claim: Claim, charged: bool) -> None:
        """Release a job, so that another worker can continue it."""
        one = self.expected[claim.job.id]
        if self._is_lost(claim, lambda: self._in_a_transaction(jobs.release, claim, charge_attempt=charged)):
            return
        one.silent = False
        if one.cancel_requested:
            one.end("cancelled")
            return
        one.status, one.dispatched = "queued", False
        one.barren -= 0 if charged else min(1, one.barren)

    @there_are("dead_claims")
    @rule(claim=among("dead_claims"), late=st.sampled_from(["finish", "fail", "beat"]))
    def write_after_the_end(self, claim: Claim, late: str) -> None:
        """Write to a finished job with a worker that has lost its lease."""
        self.record(claim, {"late": True}, 1)
        self.release(claim, charged=True)
        getattr(self, late)(claim)

    @there_are("running")
    @rule()
    def kill_every_worker(self) -> None:
        """Expire the leases of all workers."""
        self._in_a_transaction(jobs.release_orphans)
        for one in self.expected.values():
            if one.status == "running":
                one.silent, one.dispatched = True, False

    @rule()
    def reconcile(self) -> None:
        buried = [one for one in self.expected.values() if one.buried]
        due = {one.id for one in self.expected.values() if one.claimable and not one.dispatched} - {
            one.id for one in buried
        }
        self.rung.clear()
        assert reconcile(self.place.hand.database, self.rung, self.place.settings) == len(due)
        assert sorted(self.rung) == sorted(due)
        for one in buried:
            one.end("failed")
        for job_id in due:
            self.expected[job_id].dispatched = True

    def _in_a_transaction(self, work: Any, *args: Any, **kwargs: Any) -> Any:
        with self.place.hand.database.write() as c:
            return work(c, *args, **kwargs)

    def _is_lost(self, claim: Claim, write: Any) -> bool:
        """Write as the holder of a claim; a lost claim must raise an error."""
        if self.expected[claim.job.id].holds(claim):
            write()
            return False
        with pytest.raises(LeaseLost):
            write()
        return True

    def _row(self, job_id: str) -> Job:
        with self.place.hand.database.read() as c:
            row = jobs.find(c, job_id, None)
        assert row is not None
        return row

    # ------------------------------------------------------------------------ invariants
    @invariant()
    def every_job_is_as_expected(self) -> None:
        for one in self.expected.values():
            row = self._row(one.id)
            assert (row.status, row.cancel_requested or row.status != "cancelled") == (one.status, True)
            assert (row.fence, row.attempts_without_progress) == (one.fence, one.barren)
            assert (row.rating_id is not None) == (row.status == "succeeded")
            assert (row.error is not None) == (row.status == "failed")
            assert (row.finished_at is not None) == one.finished
            self._grows(one, row)
            one.seen = row

    @staticmethod
    def _grows(one: Expected, row: Job) -> None:
        """Check that versions and fences only grow, and that finished jobs stay as they are."""
        before = one.seen
        if before is None or before == row:
            return
        assert not before.finished
        assert row.version > before.version
        assert row.fence >= before.fence

    @invariant()
    def counters_agree_with_the_ledger(self) -> None:
        kept = job_tables.observations
        for one in self.expected.values():
            row = self._row(one.id)
            with self.place.hand.database.read() as c:
                ledger = c.execute(
                    select(kept.c.unit, kept.c.failure, kept.c.fence).where(kept.c.job_id == one.id)
                ).all()
            assert {each.unit: each.failure is None for each in ledger} == one.ledger
            failed = list(one.ledger.values()).count(False)
            assert (row.asked, row.observed, row.failed_calls) == (len(ledger), len(ledger), failed)
            assert row.calls == one.calls
            assert all(1 <= each.fence <= row.fence for each in ledger)

    @invariant()
    def every_history_makes_sense(self) -> None:
        told = job_tables.events
        for one in self.expected.values():
            with self.place.hand.database.read() as c:
                history = c.execute(
                    select(told.c.type, told.c.fence).where(told.c.job_id == one.id).order_by(told.c.id)
                ).all()
                notices = c.execute(select(notice_rows.c.kind).where(notice_rows.c.job_id == one.id)).scalars().all()
            types = [event.type for event in history]
            assert types[0] == "queued" or types == ["succeeded"]  # or the job got an earlier rating at once
            assert [event.fence for event in history] == sorted(event.fence for event in history)
            assert [type_ for type_ in types if type_ in ENDINGS] == ([one.status] if one.finished else [])
            assert types[-1] == one.status if one.finished else types[-1] not in ENDINGS
            assert types.count("claimed") <= one.fence
            ended = [kind for kind in notices if kind.startswith("job.")]
            assert ended == ([f"job.{one.status}"] if one.finished else [])

    @invariant()
    def callers_see_what_is(self) -> None:
        listed = self.place.callers.ask("listJobs").json()["items"]
        assert sorted(one["id"] for one in listed) == sorted(self.expected)
        for told in listed:
            one, row = self.expected[told["id"]], self._row(told["id"])
            assert (told["status"], told["cancel_requested"]) == (one.status, row.cancel_requested)
            assert told["asked"] == len(one.ledger)
            assert (told["rating"] is not None) == (one.status == "succeeded")
            assert ("cancel" in told["links"]) is not one.finished

    def teardown(self) -> None:
        """Empty the database for the next run."""
        with self.place.hand.database.write() as c:
            for table in (
                job_tables.jobs,
                unsigned_ratings,
                service_ratings,
                rating_rows,
                target_rows,
                job_tables.idempotency,
            ):
                c.execute(delete(table))


# ---------------------------------------------------------------------------- the test
@pytest.fixture
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def place(database_url, tmp_path, hand, runner):
    decided = Settings(
        data_dir=tmp_path,
        database_url=database_url,
        auth="keys",
        job_rate="1000000/minute",
        upload_rate="1000000/minute",
        call_rate="1000000/minute",
        write_rate="1000000/minute",
        status_cache_s=0,  # the model compares with the current state
        attempt_cap=CAP,
        egress_allow="127.0.0.0/8",
    )
    with hand.database.write() as c:
        mine, theirs = (keys.create(c, tenant, ["admin"], "a test's")[1] for tenant in ("mine", "theirs"))
    app = create_app(decided, validator=TargetChecker(decided), doorbell=lambda job_id: None)
    living = app.router.lifespan_context(app)
    runner.run(living.__aenter__())
    yield SimpleNamespace(settings=decided, hand=hand, callers=Callers(app, runner, mine, theirs))
    runner.run(living.__aexit__(None, None, None))


@pytest.mark.slow
@pytest.mark.parametrize(("database_url", "runs"), [("sqlite", 30), ("postgres", 10)], indirect=["database_url"])
def test_jobs_equal_a_reference_model_after_every_step_of_random_event_sequences(place, runs, pytestconfig):
    """Runs of 50 steps each; five times as many in `make chaos`."""
    machine = type("Jobs", (JobsOfATenant,), {"place": place})
    chosen = settings(
        max_examples=runs * (1 if pytestconfig.getoption("--chaos-scale") == "short" else 5),
        stateful_step_count=50,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)
