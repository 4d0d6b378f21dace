"""Tests of a session: identical questions are asked once, recorded replies are used, invalid records are refused."""

import pytest

from assay.errors import RecordError, RecordIncomplete
from assay.experiment import Session
from assay.model import Failure, Finding, Observation, Probe, Reply, Translate

FINDING = Finding("test", "gender", (), 0.95, 0.1)


def probe(unit: str, text: str) -> Probe:
    return Probe(unit, Translate(text, "en", "es"))


def session(*batches, recorded=None) -> tuple[Session, list]:
    seen = []

    def experiment():
        for batch in batches:
            replies = yield batch
            seen.append(list(replies))
        return FINDING

    ledger = recorded or {}
    return Session(experiment(), lambda units: {u: ledger[u] for u in units if u in ledger}), seen


def finish(one: Session, answer=lambda asked: Reply(asked.ask.text.upper())) -> list[Observation]:
    made = []
    while one.finding is None:
        made += one.unrecorded
        for asked in one.missing:
            made += one.accept(asked, answer(asked))
        one.advance()
    return made


def test_identical_questions_are_asked_once():
    one, seen = session([probe("a", "x"), probe("b", "x"), probe("c", "y")], [probe("d", "x")])
    assert [asked.unit for asked in one.missing] == ["a", "c"]
    made = finish(one)
    assert [reply.value for reply in seen[0] + seen[1]] == ["X", "X", "Y", "X"]
    assert {each.probe.unit: each.copied for each in made} == {"a": False, "b": True, "c": False, "d": True}
    assert (one.asked, one.failed) == (2, 0)


def test_a_question_that_failed_is_asked_again_when_a_later_batch_repeats_it():
    failures = iter([Reply(failure=Failure("timeout", "late")), Reply("there")])
    one, seen = session([probe("a", "x")], [probe("b", "x")])
    finish(one, lambda asked: next(failures))
    assert not seen[0][0].ok
    assert seen[1][0].value == "there"
    assert (one.asked, one.failed) == (2, 1)


def test_recorded_questions_are_not_asked_again():
    kept = {"a": Observation(probe("a", "x"), Reply("recorded"))}
    one, seen = session([probe("a", "x"), probe("b", "y")], recorded=kept)
    assert [asked.unit for asked in one.missing] == ["b"]
    finish(one)
    assert seen[0][0].value == "recorded"


def test_a_recorded_reply_to_another_question_with_the_same_probe_id_is_not_used():
    kept = {"a": Observation(probe("a", "another text"), Reply("stale"))}
    one, seen = session([probe("a", "x")], recorded=kept)
    finish(one)
    assert seen[0][0].value == "X"


def test_an_experiment_with_unanswered_questions_cannot_advance():
    one, _ = session([probe("a", "x")])
    with pytest.raises(RecordIncomplete, match="'a'"):
        one.advance()


def test_two_probes_with_the_same_id_are_refused():
    with pytest.raises(RecordError):
        session([probe("a", "x"), probe("a", "y")])


def test_the_evidence_digest_does_not_depend_on_the_order_of_replies():
    batch = [probe(str(i), f"text {i}") for i in range(9)]
    heads = set()
    for order in (list, reversed):
        one, _ = session(batch)
        for asked in order(one.missing):
            one.accept(asked, Reply(asked.ask.text))
        one.advance()
        heads.add(one.evidence.head())
    assert len(heads) == 1


def test_an_observation_can_be_rebuilt_from_its_json():
    for reply in (Reply("è\u0000\ud800"), Reply(failure=Failure("timeout", "late"))):
        kept = Observation(probe("a", "x"), reply, copied=True)
        assert Observation.from_json(kept.as_json()) == kept
