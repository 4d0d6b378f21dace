"""Watches of every method: only the chosen cases are asked, and their outcomes are those of the rating."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from assay.experiment import Session, generator
from assay.model import REPEATED, Failure, Observation, Reply
from assay.rating.sentinels import choose_sentinels
from tests.support.reports import document_of, read
from tests.support.simulated.services import SERVICES, WRITING
from workers.sentinels import WatchTask, _outcomes, live_reader

SEED, CASES = 3, 20
SERVICES_BY_NAME = {**SERVICES, **WRITING}
WATCHED = (
    *("round-trip, translator", "one-hop, translator", "questions, answerer", "free-text, writer"),
    *("alternation, numbers of texts", "alternation, scores of records"),
    *("stereotype-score, echo", "stereotype-score, masked", "stereotype-score, choice"),
)
UNWATCHED = (
    *("forced-choice, embedder", "forced-choice, observer", "association, embedder", "visual-stereotype, labels"),
    *("stimulus-sampling, scores of texts", "stimulus-sampling, vectors"),
)

pytestmark = pytest.mark.slow  # a rating by each method


@cache
def watched(name: str) -> tuple[WatchTask, dict[str, float | None]]:
    """Rate a simulated service; return the first run of a watch, and the outcomes of all cases of the rating."""
    service = SERVICES_BY_NAME[name](0.2, 0.2, SEED)
    session = Session(service.method.design(generator(SEED)))
    record: list[Observation] = []
    while session.finding is None:
        record += session.unrecorded
        for probe in session.missing:
            record += session.accept(probe, service.answer(probe.ask))
        session.advance()
    rating = replace(read(document_of(session.finding)).document, seed=SEED)
    outcomes = _outcomes(live_reader(rating), record)
    known = [key for key, outcome in outcomes.items() if outcome is not None]
    chosen = choose_sentinels(known, CASES, generator(1))
    by_unit = {observation.probe.unit: observation for observation in record}
    keys = frozenset((*chosen.fresh, *chosen.telling))
    return WatchTask(rating, service.method, by_unit, keys, {}), outcomes


def ask(task: WatchTask, answer) -> list[Observation]:
    """Run a watch; return its observations."""
    session, record = Session(task.experiment(9)), []
    while session.finding is None:
        record += session.unrecorded
        for probe in session.missing:
            record += session.accept(probe, answer(probe))
        session.advance()
    return record


@pytest.mark.parametrize("name", WATCHED)
def test_a_check_for_silent_changes_finds_the_results_of_the_rating_if_the_service_answers_as_before(name):
    task, outcomes = watched(name)
    assert len(task.case_keys) == CASES
    record = ask(task, lambda probe: task.recorded[probe.unit].reply)
    reader = live_reader(task.rating)
    assert {reader.split(observation)[0] for observation in record} == task.case_keys
    assert not any(REPEATED in observation.probe.unit for observation in record)
    again = _outcomes(live_reader(task.rating), record)
    assert {key: again.get(key) for key in task.case_keys} == {key: outcomes[key] for key in task.case_keys}
    assert ask(task, lambda probe: task.recorded[probe.unit].reply) == record, "a replay asks the same"


@pytest.mark.parametrize("name", WATCHED)
@pytest.mark.parametrize("answer", [Reply(failure=Failure("timeout", "too slow")), Reply("no idea"), Reply(None)])
def test_a_check_for_silent_changes_counts_failed_or_unreadable_answers_as_missing(name, answer):
    task, _ = watched(name)
    again = _outcomes(live_reader(task.rating), ask(task, lambda _: answer))
    assert [again.get(key) for key in sorted(task.case_keys)] == [None] * CASES


@pytest.mark.parametrize("name", WATCHED)
def test_ratings_by_methods_with_a_result_for_each_case_can_be_checked_for_silent_changes(name):
    assert live_reader(watched(name)[0].rating).paired


@pytest.mark.parametrize("name", UNWATCHED)
def test_ratings_by_methods_whose_cases_cannot_be_asked_one_by_one_are_not_checked_for_silent_changes(name):
    assert not live_reader(watched(name)[0].rating).paired
