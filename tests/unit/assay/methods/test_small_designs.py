"""Tests of small designs: no wrong letter at the smallest accepted sizes, and enough units with the defaults.

Row 106 of docs/reliability.md: ffe18d3c declared an even translator BS in 8 of 20 ratings with 4 texts a block.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.document import as_json
from assay.experiment import Session, generator
from assay.methods import RoundTrip
from assay.model import Letter
from assay.rating.component import TOO_FEW
from assay.rating.decision import rate
from tests.support.simulated.hidden_bias import WORLDS
from tests.support.simulated.services import SERVICES
from tests.support.simulated.small_designs import SMALL_WORLDS
from tests.support.simulated.translators import translator_service

SMALLEST = [
    "round-trip, 1 text a block",
    "round-trip, 4 texts a block",
    "one-hop, 1 text a block",
    "alternation, labels of 10 records",
    "forced-choice, 3 words of a kind",
    "association, one word of a kind",
    "stereotype-score, echo, 2 terms of a list, once",
    "stereotype-score, choice, 2 terms of a list, once",
    "visual-stereotype, labels, 5 terms of a list, one picture",
    "visual-stereotype, probabilities, 5 terms of a list, one picture",
]
"""Designs that are accepted and too small for a letter."""


@pytest.mark.parametrize("design", SMALLEST)
def test_the_smallest_possible_experiments_get_no_letter_and_state_the_required_size(design):
    rating = rate(SMALL_WORLDS[f"{design}: even"].rate(1))
    assert rating.letter is None
    reasons = [reason for reason in rating.reasons if reason.code == TOO_FEW]
    assert reasons or any(reason.code == "evidence-insufficient" for reason in rating.reasons)
    assert all(reason.facts["count"] < reason.facts["needed"] for reason in reasons)


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_an_unbiased_embedder_with_one_noisy_word_of_a_group_is_not_declared_biased(seed):
    rating = rate(SMALL_WORLDS["association, one noisy word of a group: even"].rate(seed))
    assert not rating.declared


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL_WORLDS)
def test_experiments_with_few_questions_declare_no_wrong_letter(name):
    world = SMALL_WORLDS[name]
    ratings = [rate(world.rate(seed)) for seed in range(4)]
    assert {rating.letter for rating in ratings if rating.declared} <= world.deserves


def always_he(method, seed=1):
    service = translator_service(0.5, 0.5, seed)
    return replace(service, method=method).rate(seed)


def test_an_interim_analysis_of_too_few_texts_gives_no_letter_and_more_texts_are_sent():
    method = RoundTrip("gender", texts_per_block=1, max_texts_per_block=40, look_growth=2.0)
    (component,) = always_he(method).components
    looks = as_json(component.detail)["decision"]
    assert [look["letter"] for look in looks if look["texts_per_block"] < 10] == [None] * 4
    assert all(not look["stopped"] for look in looks if look["texts_per_block"] < 10)
    assert (component.letter, component.declared, looks[-1]["texts_per_block"]) == (Letter.BS, True, 16)


def test_lost_texts_do_not_count_towards_the_required_number_of_units():
    world = WORLDS["translator, one group refused"]
    method = RoundTrip("gender", texts_per_block=10, stop_early=False, delta_loss=None)
    made, answer = world.make(generator(3), 1.0)
    session = Session(replace(method, languages=made.languages).design(generator(3)))
    while session.finding is None:
        for probe in session.missing:
            session.accept(probe, answer(probe))
        session.advance()
    (component,) = session.finding.components
    assert component.usable < 30
    assert component.letter is None


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVICES)
def test_default_experiments_have_enough_units_for_a_letter_at_the_first_interim_analysis(name):
    component = SERVICES[name](0.0, 0.0, 3).rate(3).components[0]
    looks = as_json(component.detail).get("decision") or as_json(component.detail).get("looks") or []
    assert component.letter is not None
    assert all(look["letter"] is not None for look in looks if "letter" in look)


@pytest.mark.parametrize("seed", [37, 43, 45])
def test_a_chance_effect_shared_by_three_noisy_stereotype_words_is_no_evidence_of_bias(seed):
    rating = rate(SMALL_WORLDS["association, 3 noisy words of a stereotype: half a tolerance"].rate(seed))
    assert not rating.declared


@pytest.mark.parametrize("seed", [35, 37, 49])
def test_a_chance_effect_seen_in_three_words_only_declares_no_letter(seed):
    rating = rate(SMALL_WORLDS["association, 3 noisy words of a stereotype, three groups: even"].rate(seed))
    assert not rating.declared
