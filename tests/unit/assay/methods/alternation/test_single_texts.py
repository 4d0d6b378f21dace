"""Classifiers whose labels change with the attribute, the person or chance, although averages over texts are equal."""

from __future__ import annotations

from typing import Any

import pytest

from assay.document import as_json
from assay.experiment import run
from assay.methods import Alternation
from assay.methods.shared.profiles import TextProfiles
from assay.model import Component, Finding, Letter
from assay.rating.decision import rate
from tests.support.simulated.single_texts import (
    PERSONS,
    Turned,
    by_chance,
    by_name,
    by_sentence,
    by_sentence_and_person,
    cached,
    turning_classifier,
)

WORDS = {"the aunt": "ann", "the uncle": "bob"}
GROUPS = {name: tuple(f"{name} {place}" for place in range(15)) for name in ("ann", "bob", "cyd")}


def rated(turned: Turned, seed: int = 1, labels: int = 2, **fields: Any) -> tuple[Finding, int]:
    """Rate a classifier that labels by the sentence except where `turned`; return the finding and question count."""
    persons = (
        {word: value for value, words in GROUPS.items() for word in words} | WORDS if "texts" in fields else PERSONS
    )
    classify, asked = turning_classifier(turned, seed, labels, persons), []

    def answer(probe):
        asked.append(probe)
        return classify(probe)

    return run(Alternation("gender", answers="labels", **fields), answer, seed), len(asked)


def codes(component: Component) -> set[str]:
    return {reason.code for reason in component.reasons}


def changed(component: Component) -> list[float]:
    return [row["changed"] / row["of"] for row in as_json(component.detail)["changes"]]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, 0.3, 0.5])
@pytest.mark.parametrize("service", [by_sentence, by_sentence_and_person])
def test_a_service_whose_labels_change_with_the_attribute_in_both_directions_is_rated_bs(service, share):
    finding, _ = rated(service(share))
    rating, (component,) = rate(finding), finding.components
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert "treats-alike-on-average-only" in codes(component)
    assert changed(component)[:2] == [pytest.approx(share, abs=0.1), 0.0]  # 192 sentences without their person


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, 0.3, 0.5])
def test_labels_that_change_as_often_within_one_group_as_between_groups_are_reported_as_following_names(share):
    finding, _ = rated(by_name(share))
    rating, (component,) = rate(finding), finding.components
    assert rating.letter is not Letter.BS
    reason = next(reason for reason in component.reasons if reason.code == "follows-names")
    assert reason.facts["changed_person"] / reason.facts["of_person"] == pytest.approx(share, abs=0.03)
    assert reason.facts["changed_swapped"] / reason.facts["of_swapped"] == pytest.approx(share, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, 0.3, 0.5])
@pytest.mark.parametrize("store", [lambda turned: turned, cached], ids=["each time anew", "from a cache"])
def test_labels_that_change_by_chance_are_not_biased(store, share):
    finding, _ = rated(store(by_chance(share)))
    rating = rate(finding)
    assert not (rating.declared and rating.letter is Letter.BS)
    assert "treats-alike-on-average-only" not in codes(finding.components[0])


@pytest.mark.slow
def test_noise_does_not_hide_labels_that_change_with_the_attribute():
    turned, noise = by_sentence(0.4), by_chance(0.15)
    finding, _ = rated(lambda rest, who, rng: turned(rest, who, rng) != noise(rest, who, rng))
    assert (rate(finding).letter, rate(finding).declared) == (Letter.BS, True)
    assert changed(finding.components[0])[1] == pytest.approx(0.15, abs=0.07), "the repeated questions show the noise"


@pytest.mark.slow
def test_a_service_that_changes_any_of_ten_labels_with_the_attribute_is_rated_bs():
    """Of ten labels, each changes in a twentieth of the texts only."""
    finding, _ = rated(by_sentence(0.25), labels=10)
    assert (rate(finding).letter, rate(finding).declared) == (Letter.BS, True)
    assert all("treats-alike-on-average-only" in codes(component) for component in finding.components)


@pytest.mark.slow
@pytest.mark.parametrize(("turned", "biased"), [(by_sentence(0.3, "bob"), True), (by_name(0.3), False)])
def test_labels_that_change_with_one_of_three_groups_make_the_service_bs_and_name_that_group(turned, biased):
    finding, _ = rated(turned, texts=TextProfiles(people=GROUPS))
    rating = rate(finding)
    assert (rating.letter is Letter.BS and rating.declared) == biased
    if biased:
        assert "bob" in {as_json(finding.components[0].detail)["changes"][0][end] for end in ("from", "to")}


ONE_PAIR = TextProfiles(people={"ann": ("the aunt",), "bob": ("the uncle",)})


@pytest.mark.parametrize("share", [0.15, 0.5])
def test_a_service_whose_labels_change_with_the_attribute_is_bs_even_if_each_value_has_a_single_phrase(share):
    finding, _ = rated(by_sentence(share, "bob"), texts=ONE_PAIR)
    rating, (component,) = rate(finding), finding.components
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert "treats-alike-on-average-only" in codes(component)
    assert "person" not in as_json(component.detail)["clusters"]


@pytest.mark.parametrize("turned", [by_chance(0.3), by_chance(0.5), by_sentence(0.0, "bob")])
def test_labels_that_change_by_chance_are_not_rated_bs_even_if_each_value_has_a_single_phrase(turned):
    rating = rate(rated(turned, texts=ONE_PAIR)[0])
    assert not (rating.declared and rating.letter is Letter.BS)


def test_all_labels_of_a_classifier_share_at_most_two_estimates_of_the_effect_on_single_texts():
    finding, _ = rated(by_sentence(0.25, "bob"), labels=10, texts=TextProfiles(people=GROUPS, most=100), profiles=100)
    individual = [
        row for part in finding.components for row in as_json(part.detail)["hidden"] if row["name"] == "changed labels"
    ]
    assert len(individual) == 10
    # once for the labels whose mean difference may be noise, and once for the others
    assert len({row["effect"]["estimate"] for row in individual}) <= 2


@pytest.mark.slow
def test_fifty_texts_are_asked_two_more_times_to_measure_noise():
    finding, asked = rated(by_sentence(0.5))
    assert asked == 2 * 800 + 2 * 50 * 2
    again = as_json(finding.components[0].detail)["changes"][1]
    assert (again["what"], again["of"]) == ("the same question again", 50 * 2 * 3)
    assert rated(by_sentence(0.5), repeats=0)[1] == 1600


@pytest.mark.slow
def test_labels_that_change_with_the_name_for_women_only_are_not_reported_as_following_names():
    for repeats in (0, 50):
        finding, _ = rated(by_sentence_and_person(0.15), repeats=repeats)
        assert "follows-names" not in codes(finding.components[0])
