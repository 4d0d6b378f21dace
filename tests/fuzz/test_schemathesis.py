"""The whole API against its own OpenAPI document: requests that keep it, requests that break it, and sequences.

Schemathesis runs in the process, over ASGI, through all of its phases (examples, coverage, fuzzing,
stateful) with all of its checks. Nothing is called: the doorbell hands every job to `HandWorker`,
which ends it at once, so that streams end and ratings exist. A run is derandomised; only the ids
that the service makes differ between two runs.

Two of its checks need a word:

- ``positive_data_acceptance``: JSON Schema cannot say that a target was saved, that an attribute
  exists, or that a cursor was given out. So a well-formed request may be refused, but only for its
  meaning; `refused_only_for_its_meaning` holds the service to that.
- ``object_level_authorization`` needs accounts that it makes itself. Here it has nothing to do;
  `tests/unit/service/test_hostile_requests.py` asks for everything of one tenant as another.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.python.asgi import shutdown_lifespans

from service.app import create_app
from store import jobs, keys
from store.jobs import NewJob
from store.settings import Settings
from workers.desk import Desk

LOOPBACK = "http://127.0.0.1:5000"
FOR_ITS_MEANING = {"bad-specification", "bad-cursor", "idempotency-mismatch"}
"""Problems of requests that have the right shape."""


@schemathesis.check
def refused_only_for_its_meaning(ctx: Any, response: Any, case: Any) -> None:
    """A request that keeps the document is never told that its shape is wrong."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code not in {400, 415, 422}:
        return
    if "\\u0000" in json.dumps(case.body, default=str):
        return  # a character that JSON has and databases lack; strict JSON refuses it (`service.strict_json`)
    assert response.json()["code"] in FOR_ITS_MEANING, f"{response.json()['detail']}: {response.json()['errors']}"


# ---------------------------------------------------------------------------- a run
@dataclass
class Outcome:
    """What a run found, and which statuses each operation answered with."""

    findings: list[str] = field(default_factory=list)
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)

    def add(self, event: Any) -> None:
        """Take an event of the engine."""
        match event:
            case events.NonFatalError(label=label, value=error):
                self.findings.append(f"{label}: {error!r}")
            case events.FatalError(exception=error):
                raise error
            case events.ScenarioFinished(recorder=recorder, phase=phase):
                self.phases[phase.value] += len(recorder.interactions)
                for case_id, checks in recorder.checks.items():
                    label = recorder.cases[case_id].value.operation.label
                    self.findings += [self._told(label, one.failure_info) for one in checks if one.failure_info]
                for case_id, exchange in recorder.interactions.items():
                    if exchange.response is not None:
                        label = recorder.cases[case_id].value.operation.label
                        self.answers[label, exchange.response.status_code] += 1

    @staticmethod
    def _told(label: str, info: Any) -> str:
        return f"{label}: {info.failure.title}: {info.failure.message}\n{info.code_sample}"

    def succeeded(self, label: str) -> bool:
        """Whether an operation ever answered as it should; `OPTIONS` of it is not it."""
        statuses = {status for told, status in self.answers if told == label}
        return bool(statuses & {200, 201, 202}) or (label.startswith("DELETE") and 204 in statuses)


def strict(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out the answer that stands for every status, which would document anything at all."""
    copied: dict[str, Any] = json.loads(json.dumps(document))
    for path in copied["paths"].values():
        for operation in path.values():
            del operation["responses"]["default"]
    return copied


def run(app: FastAPI, examples: int, hooks: Sensible | None = None, **headers: str) -> Outcome:
    """Send whatever schemathesis thinks of."""
    config = SchemathesisConfig(seed=1)
    project = config.projects.default
    project.generation.update(max_examples=examples, deterministic=True, database="none")
    project.checks.positive_data_acceptance.expected_statuses = ["2xx", "401", "403", "404", "409", "422", "429"]
    project.headers = headers or None
    schema = schemathesis.openapi.from_dict(strict(app.openapi()), config=config)
    schema.app = app
    for name in ("map_body", "map_query", "map_path_parameters") if hooks is not None else ():
        schema.hook(name)(_function(getattr(hooks, name)))
    outcome = Outcome()
    for event in from_schema(schema).execute():
        outcome.add(event)
    return outcome


def _function(method: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Make a hook of a method: hooks are functions, and are told a context."""
    return lambda context, value: method(value)


@contextmanager
def served(settings: Settings, doorbell: Callable[[str], None]) -> Iterator[FastAPI]:
    """Make an application that schemathesis starts; stop it afterwards."""
    try:
        yield create_app(settings, desk=Desk(settings), doorbell=doorbell)
    finally:
        shutdown_lifespans()


@pytest.fixture
def settings(database_url, tmp_path):
    """Limits that are never reached: they have tests of their own."""
    return Settings(
        data_dir=tmp_path,
        database_url=database_url,
        auth="none",
        job_rate="1000000/minute",
        max_active_jobs=100_000,
        egress_allow="127.0.0.0/8",
    )


# ---------------------------------------------------------------------------- requests that get further
class Sensible:
    """Puts names that exist where generated text stands, so that requests come past the checks of meaning.

    Only well-formed values are replaced, and only by well-formed ones: a request that was meant to
    break the document still breaks it.
    """

    def __init__(self, rating_id: str, own_key: str) -> None:
        self._rating_id, self._own_key = rating_id, own_key

    def map_body(self, body: Any) -> Any:
        """Name an attribute, languages and a protocol that exist, at an address that may be called."""
        if isinstance(body, dict):
            self._mend_target(body if "protocol" in body else body.get("target"))
            self._mend_experiment(body.get("experiment"))
        return body

    def _mend_target(self, target: Any) -> None:
        if not isinstance(target, dict):
            return
        self._put(target, "protocol", "libretranslate", most=50)
        self._put(target, "kind", "translator", among={"classifier", "embedder", "regressor"})
        self._put(target, "base_url", LOOPBACK, least=8, most=2048)
        if isinstance(target.get("settings"), dict) and len(target["settings"]) <= 50:
            target["settings"] = {}

    def _mend_experiment(self, experiment: Any) -> None:
        if not isinstance(experiment, dict):
            return
        self._put(experiment, "attribute", "gender", least=0)
        for name, value, most in (("languages", "es", 200), ("templates", "base", 20)):
            if self._is_list(experiment.get(name), most, lambda one: isinstance(one, str)):
                experiment[name] = [value]
        for name, share in (("unbiased", 0.5), ("biased", 0.8)):
            if self._is_list(experiment.get(name), 10, self._is_distribution):
                experiment[name] = [{"he": share, "she": 1 - share}]

    def map_query(self, query: Any) -> Any:
        """Ask for what was rated."""
        if isinstance(query, dict):
            self._put(query, "target_url", LOOPBACK, most=2048)
            self._put(query, "attribute", "gender", least=0, most=100)
            self._put(query, "method", "round-trip", least=0, most=100)
        return query

    def map_path_parameters(self, parameters: Any) -> Any:
        """Name things that exist; never revoke the key that the run itself uses."""
        if isinstance(parameters, dict):
            for name, value in (("rating_id", self._rating_id), ("name", "round-trip"), ("code", "not-found")):
                self._put(parameters, name, value)
            if parameters.get("key_id") == self._own_key:
                parameters["key_id"] = "key_other"
        return parameters

    @staticmethod
    def _is_list(value: Any, most: int, is_right: Callable[[Any], bool]) -> bool:
        return isinstance(value, list) and len(value) <= most and all(map(is_right, value))

    @staticmethod
    def _is_distribution(value: Any) -> bool:
        return isinstance(value, dict) and all(type(share) in {int, float} for share in value.values())

    @staticmethod
    def _put(
        fields: dict[str, Any],
        name: str,
        value: str,
        *,
        least: int = 1,
        most: int = 10**6,
        among: set[str] | None = None,
    ) -> None:
        written = fields.get(name)
        if isinstance(written, str) and least <= len(written) <= most and (among is None or written in among):
            fields[name] = value


# ---------------------------------------------------------------------------- the tests
@pytest.fixture
def sensible_and_key(hand):
    """Names that exist, a rating of them, and a key to ask with."""
    new = NewJob(
        tenant="default",
        kind="rating",
        target_id=None,
        target={"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": LOOPBACK},
        sealed_secret=None,
        experiment={"method": "round-trip", "attribute": "gender"},
        request_digest="sha256:00",
        seed=7,
        visibility="public",
        callback_url=None,
        max_calls=100,
        deadline_s=3600,
        expected=240,
        key_id=None,
    )
    with hand.database.write() as c:
        job = jobs.add(c, new)
        key, plain = keys.create(c, "default", ["admin"], "the run's own")
    hand.complete(job.id)
    with hand.database.read() as c:
        rating_id = jobs.find(c, job.id, None).rating_id
    return Sensible(rating_id, key.id), plain


def operations(app: FastAPI) -> set[str]:
    """Every operation as schemathesis calls it."""
    return {f"{method.upper()} {path}" for path, methods in app.openapi()["paths"].items() for method in methods}


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_request_is_answered_other_than_documented(settings, hand):
    with served(settings, hand.complete) as app:
        outcome = run(app, examples=20)
        assert not outcome.findings, "\n\n".join(outcome.findings[:10])
        assert {label for label, _ in outcome.answers} == operations(app)
        assert set(outcome.phases) == {"examples", "coverage", "fuzzing", "stateful"}
        assert outcome.phases.total() > 1000


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_every_operation_is_reached_and_asks_for_its_key(settings, hand, sensible_and_key):
    sensible, plain = sensible_and_key
    with served(settings.model_copy(update={"auth": "keys"}), hand.complete) as app:
        outcome = run(app, 15, sensible, Authorization=f"Bearer {plain}")
        assert not outcome.findings, "\n\n".join(outcome.findings[:10])
        # a job may end before it can be cancelled here; `test_job_state_machine.py` cancels in every state
        unreached = {label for label in operations(app) if not outcome.succeeded(label)}
        assert unreached <= {"POST /v1/jobs/{job_id}/cancel"}
