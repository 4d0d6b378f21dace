"""Every method is deterministic: the same specification, seed and replies give the same rating."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from assay.canonical import digest_of
from assay.document import ServiceDocument, as_json
from assay.experiment import Session, generator, replay
from assay.explain import Vocabulary
from assay.methods import METHODS, method_name
from assay.model import Failure, Observation, Reply
from assay.rating.decision import rate
from assay.rating.document import rating_document
from store.ratings.experiment_json import dump_method, parse_method
from tests.support.simulated.services import RECORDED, SERVICES, WRITING

SEED, STEP_1, STEP_2 = 5, 0.0, 0.4
EVERY = {**SERVICES, **RECORDED, **WRITING}


def written(method, finding, evidence: str) -> dict:
    document = rating_document(
        rate(finding),
        vocabulary=Vocabulary.of(method),
        experiment=dump_method(method),
        target=ServiceDocument("simulated", "classifier", "custom"),
        seed=SEED,
        calls=0,
        failed_calls=0,
        evidence_digest=evidence,
        visibility="private",
    )
    return json.loads(json.dumps(as_json(document), allow_nan=False))


@cache
def run(name: str) -> tuple[object, dict, tuple[Observation, ...]]:
    """Rate a simulated service once; return the method, the rating document and the record, which are cached."""
    service = EVERY[name](STEP_1, STEP_2, SEED)
    session = Session(service.method.design(generator(SEED)))
    record: list[Observation] = []
    while session.finding is None:
        record += session.unrecorded
        for probe in session.missing:
            record += session.accept(probe, service.answer(probe.ask))
        session.advance()
    return service.method, written(service.method, session.finding, session.evidence.head()), tuple(record)


def through_json(record) -> list[Observation]:
    return [Observation.from_json(json.loads(json.dumps(one.as_json()))) for one in record]


@pytest.mark.slow
def test_every_method_has_a_simulated_service():
    assert {method_name(each) for each in METHODS} == {
        service(STEP_1, STEP_2, SEED).method.method for service in EVERY.values()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_replay_of_the_recorded_replies_in_any_order_gives_the_same_rating(name):
    method, first, record = run(name)
    again = parse_method(json.loads(json.dumps(dump_method(method))))
    assert again == method
    kept = through_json(record)
    shuffled = [kept[place] for place in np.random.Generator(np.random.PCG64(1)).permutation(len(kept))]
    session = replay(again, SEED, shuffled)
    assert written(again, session.finding, session.evidence.head()) == first


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_run_resumed_from_a_random_half_of_its_recorded_replies_gives_the_same_rating(name):
    method, first, record = run(name)
    answers = {one.probe.unit: one.reply for one in record}
    some = np.random.Generator(np.random.PCG64(2)).permutation(len(record))[: len(record) // 2]
    survived = {record[place].probe.unit: record[place] for place in some}
    session = Session(
        method.design(generator(SEED)), lambda units: {one: survived[one] for one in units if one in survived}
    )
    while session.finding is None:
        for probe in session.missing:
            session.accept(probe, answers[probe.unit])
        session.advance()
    assert written(method, session.finding, session.evidence.head()) == first


def sealed_after_one_batch(method, record) -> str:
    replies = {one.probe.unit: one.reply for one in record}
    session = Session(method.design(generator(SEED)))
    for probe in session.missing:
        session.accept(probe, replies[probe.unit])
    session.advance()
    return session.evidence.head()


@pytest.mark.parametrize("name", SERVICES)
def test_an_altered_reply_changes_the_evidence_digest(name):
    method, _, record = run(name)
    first = next(at for at, one in enumerate(record) if one.reply.ok and not one.copied)
    altered = [
        replace(one, reply=Reply(None, Failure("timeout", "altered"))) if at == first else one
        for at, one in enumerate(record)
    ]
    assert sealed_after_one_batch(method, altered) != sealed_after_one_batch(method, record)


@pytest.mark.slow
def test_ratings_do_not_depend_on_pythons_hash_seed():
    program = (
        "import json, sys; sys.path.insert(0, 'tests/house')\n"
        "from test_determinism import EVERY, run\n"
        "from assay.canonical import digest_of\n"
        "print(json.dumps({name: digest_of(run(name)[1]) for name in EVERY}))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        # the environment keeps OPENBLAS_CORETYPE, so that both processes round alike
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": "."},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {name: digest_of(run(name)[1]) for name in EVERY}
