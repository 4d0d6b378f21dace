"""Tests of the replay order: ledger rows in any order are put back into the order of the Merkle leaves."""

import zlib

import numpy as np
import pytest

from assay.canonical import EvidenceTree
from assay.errors import RecordIncomplete
from assay.evidence.export import Unrolling
from assay.experiment import Session, generator
from assay.methods.translation.one_hop import OneHop
from assay.methods.translation.round_trip import RoundTrip
from assay.model import Embed, Failure, Probe, Reply
from tests.support.simulated.translators import THERE


def answer(probe: Probe) -> Reply:
    """Return short texts unchanged; fail one call in fifty."""
    if isinstance(probe.ask, Embed):
        return Reply([float(len(probe.ask.text)), 1.0, float(sum(probe.ask.text.encode()) % 7)])
    if len(probe.ask.text) % 50 == 7:
        return Reply(failure=Failure("timeout", "no answer"))
    return Reply(probe.ask.text)


def rated(method, seed: int):
    """Run an experiment; return its session and a dict of all observations by probe unit (the id of a probe)."""
    session, ledger = Session(method.design(generator(seed))), {}
    while session.finding is None:
        for kept in session.unrecorded:
            ledger[kept.probe.unit] = kept
        for probe in session.missing:
            for kept in session.accept(probe, answer(probe)):
                ledger[kept.probe.unit] = kept
        session.advance()
    return session, ledger


def unrolled(method, seed, ledger, step=17):
    unrolling, found = Unrolling(method, seed, len(ledger)), []
    while batch := unrolling.advance():
        for start in range(0, len(batch), step):
            found += unrolling.accept(batch[start : start + step], ledger)
    return found


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("method", [RoundTrip(attribute="gender", languages=("es",)), OneHop(attribute="gender")])
def test_the_order_of_merkle_leaves_is_restored_from_a_shuffled_record(method, seed):
    session, ledger = rated(method, seed)
    shuffled = [list(ledger)[place] for place in np.random.default_rng(1).permutation(len(ledger))]
    tree = EvidenceTree()
    for each in unrolled(method, seed, {unit: ledger[unit] for unit in shuffled}):
        tree.append(each.as_json())
    assert tree.head() == session.evidence.head()
    assert tree.size == len(ledger)


def test_the_order_of_leaves_is_not_restored_from_a_record_that_lacks_an_answer_or_has_another_seed():
    method = RoundTrip(attribute="gender", languages=("es",))
    _, ledger = rated(method, 0)
    unit = list(ledger)[5]
    with pytest.raises(RecordIncomplete, match="holds no reply for"):
        unrolled(method, 0, {name: each for name, each in ledger.items() if name != unit} | {"other": ledger[unit]})
    with pytest.raises(RecordIncomplete):
        unrolled(method, 1, ledger)


def test_restoring_the_order_of_an_empty_record_returns_no_observations():
    assert unrolled(RoundTrip(attribute="gender"), 0, {}) == []


def test_restoring_the_order_of_a_record_continues_after_a_batch_without_questions():
    method = OneHop(attribute="gender")

    def translated(probe: Probe) -> Reply:
        return Reply(f"{'El' if zlib.crc32(probe.ask.text.encode()) % 2 else 'La'} {probe.ask.text.translate(THERE)}")

    session, ledger = Session(method.design(generator(3))), {}
    while session.finding is None:
        for probe in session.missing:
            for kept in session.accept(probe, translated(probe)):
                ledger[kept.probe.unit] = kept
        session.advance()
    assert len(ledger) > method.texts_per_block * 3  # more than one look
    tree = EvidenceTree()
    for observation in unrolled(method, 3, ledger):
        tree.append(observation.as_json())
    assert (tree.head(), tree.size) == (session.evidence.head(), len(ledger))
