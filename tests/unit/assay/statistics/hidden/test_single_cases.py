"""Tests of effects on single items: swapped values against repeated answers and against persons of one group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.statistics.hidden.single_cases import SingleCases, item_effect, text_effect
from assay.statistics.intervals.alternation_effects import Profiles

LIMIT = 0.25

of = SingleCases.of_numbers


@pytest.fixture
def rng():
    return np.random.default_rng(23)


def profiles_of(difference: np.ndarray, rng: np.random.Generator, **clusters: np.ndarray) -> Profiles:
    """Return profiles with normal outputs; the output under the second value is larger by `difference`."""
    base = rng.normal(size=len(difference))
    return Profiles(np.column_stack([base, base + difference]), ("a", "b"), clusters)


def test_fifteen_values_that_differ_by_noise_only_have_no_effect_on_single_items(rng):
    outputs = rng.normal(size=400)[:, None] + rng.normal(0, 0.1, (400, 15))
    repeats = outputs[:50, :, None] + rng.normal(0, 0.1, (50, 15, 3))
    repeats[:, :, 0] = outputs[:50]
    profiles = Profiles(outputs, tuple(f"v{place}" for place in range(15)), {})
    assert np.quantile(item_effect(of(profiles, repeats), LIMIT, rng).draws, 0.95) < LIMIT


def test_noise_between_repeated_answers_is_not_counted_as_an_effect_on_items(rng):
    profiles = profiles_of(rng.normal(0, 0.6, 3000), rng)  # pure noise: sd .6 for both values together
    repeats = rng.normal(0, 0.6 / np.sqrt(2), (200, 2, 3))
    found = item_effect(of(profiles, repeats), LIMIT, rng)
    assert float((found.draws > LIMIT).mean()) < 0.05


@pytest.mark.parametrize(("noise", "effect"), [(0.6, 0.6), (0.6, 0.0), (0.1, 0.0)])
def test_under_large_noise_an_effect_on_items_must_also_show_in_repeated_items(noise, effect, rng):
    found = []
    for _ in range(60):
        sign = effect * rng.choice([-1.0, 1.0], 3000)
        profiles = profiles_of(sign + noise * rng.normal(size=3000), rng)
        repeats = noise / np.sqrt(2) * rng.normal(size=(50, 2, 3))
        repeats[:, 1] += sign[:50, None]
        found.append(item_effect(of(profiles, repeats), LIMIT, rng))
    upper_bounds = np.mean([one.bound for one in found])
    assert upper_bounds > 0.9 if noise > LIMIT > effect else upper_bounds < 0.25
    shown = np.mean([not one.bound and (one.draws > LIMIT).mean() > 0.95 for one in found])
    assert shown > 0.75 if effect else shown < 0.02


def later(noise) -> np.ndarray:
    """Return three answers per record and value; the last two differ from the first by `noise`, shape (50, 2, 2)."""
    return np.concatenate([np.zeros((50, 2, 1)), noise], axis=2)


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(lambda rng: later(rng.normal(0, 0.6, (50, 2, 2))), id="noise"),
        pytest.param(
            lambda rng: later(np.repeat(rng.normal(0, 0.6, (50, 2, 1)), 2, axis=2)), id="another answer that stays"
        ),
        pytest.param(
            lambda rng: later(rng.normal(0, 5, (50, 2, 2)) * (rng.random((50, 2, 2)) < 0.04)), id="a few wild answers"
        ),
        pytest.param(lambda rng: later(rng.standard_t(2, (50, 2, 2))), id="heavy tails"),
    ],
)
def test_noise_that_occurs_only_in_repeated_answers_is_not_subtracted_from_the_effect(again, rng):
    profiles = profiles_of(0.5 * rng.choice([-1.0, 1.0], 3000), rng)
    found = [item_effect(of(profiles, again(rng)), LIMIT, rng) for _ in range(60)]
    assert np.mean([one.draws.mean() < 0.45 for one in found]) < 0.1
    assert np.mean([one.bound for one in found]) > 0.9


@pytest.mark.parametrize("drift", [0.0, 2.0])
def test_the_noise_of_a_service_that_drifts_is_still_estimated(drift, rng):
    profiles = profiles_of(rng.normal(0, 0.6, 3000), rng)
    noise = [rng.normal(0, 0.6 / np.sqrt(2), (50, 2, 3)) + drift * np.arange(3) for _ in range(60)]
    found = [item_effect(of(profiles, one), LIMIT, rng) for one in noise]
    # the noise is .6 times the output's standard deviation
    assert np.mean([(one.draws < 2 * LIMIT).mean() > 0.9 for one in found]) > 0.85


def test_rare_outliers_that_no_repeated_item_shows_give_only_an_upper_bound(rng):
    wild = np.where(rng.random(3000) < 0.002, 12.0, 0.0)
    found = item_effect(of(profiles_of(wild, rng), rng.normal(0, 0.01, (50, 2, 3))), LIMIT, rng)
    assert found.draws.mean() > LIMIT
    assert found.bound, "what is carried by so few rows would hardly be among 50 that are asked again"


@pytest.mark.parametrize("items", [0, 1, 4, 5])
def test_fewer_than_five_repeated_items_give_only_an_upper_bound(items, rng):
    found = item_effect(of(profiles_of(np.full(500, 0.5), rng), np.zeros((items, 2, 3))), LIMIT, rng)
    assert found.bound == (items < 5)
    assert found.draws.mean() == pytest.approx(0.5, abs=0.05)


def test_records_without_any_difference_have_no_effect_on_items(rng):
    found = item_effect(of(profiles_of(np.zeros(500), rng), np.zeros((50, 2, 3))), LIMIT, rng)
    assert not found.bound
    assert not found.draws.any()


def test_noise_is_not_counted_as_an_effect_of_the_noisiest_of_many_pairs_of_values(rng):
    beyond = []
    for _ in range(20):
        clean = rng.normal(size=(1000, 1))
        profiles = Profiles(clean + 0.7 * rng.normal(size=(1000, 8)), tuple("abcdefgh"), {})
        found = item_effect(of(profiles, clean[:50, :, None] + 0.7 * rng.normal(size=(50, 8, 3))), LIMIT, rng)
        beyond.append(not found.bound and float((found.draws > LIMIT).mean()) > 0.95)
    assert sum(beyond) <= 1


def test_negligible_noise_in_repeated_answers_does_not_turn_an_effect_into_an_upper_bound(rng):
    profiles = profiles_of(0.5 * rng.choice([-1.0, 1.0], 3000), rng)
    repeats = later(rng.normal(0, 1e-9, (50, 2, 2)))
    assert not item_effect(of(profiles, repeats), LIMIT, rng).bound


def test_an_effect_whose_sign_differs_between_items_is_found(rng):
    sign = rng.choice([-1.0, 1.0], 3000)
    profiles = profiles_of(0.5 * sign, rng)
    found = item_effect(of(profiles, np.zeros((50, 2, 3))), LIMIT, rng)
    assert found.draws.mean() == pytest.approx(0.5 / profiles.scale, abs=0.02)
    assert (found.draws > LIMIT).all()


def test_without_repeated_items_there_is_only_an_upper_bound_of_the_effect_on_items(rng):
    found = item_effect(of(profiles_of(rng.normal(0, 0.6, 500), rng), None), LIMIT, rng)
    assert found.bound
    assert found.draws.mean() > 0.4


# ---------------------------------------------------------------------------- sentences
PERSONS, SENTENCES = 40, 160


def sentences(apart: Callable[..., np.ndarray], rng: np.random.Generator, noise: float = 0.2, repeats: bool = True):
    """Ask about 800 sentences; `apart` adds to the answers, by persons and sentences, shape (items, values)."""
    person, cell = (rng.permutation(np.arange(800) % count) for count in (PERSONS, SENTENCES))
    clean = rng.normal(size=SENTENCES)[cell][:, None] + apart(person, cell)
    again = clean[:50, :, None] + noise * rng.normal(size=(50, 2, 3))
    outputs = clean + noise * rng.normal(size=clean.shape)
    again[:, :, 0] = outputs[:50]
    cases = SingleCases(outputs[..., None], again[..., None] if repeats else None, {"person": person})
    return text_effect(cases, (cell, SENTENCES), np.zeros((4000, 1)), LIMIT, rng)


def by_sentence(size: float, rng: np.random.Generator):
    moved = rng.normal(0, size, SENTENCES)
    return lambda _, cell: np.column_stack([np.zeros(len(cell)), moved[cell]])


def by_person_in_sentence(sizes: tuple[float, float], rng: np.random.Generator):
    return lambda person, _: rng.normal(size=(len(person), 2)) * sizes


def by_person(size: float, rng: np.random.Generator):
    moved = rng.normal(0, size, (PERSONS, 2))
    return lambda person, _: moved[person]


@pytest.mark.parametrize("noise", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("size", [0.0, 0.5])
def test_a_difference_that_all_persons_share_in_a_sentence_is_recovered_with_any_noise(size, noise, rng):
    found, *_ = sentences(by_sentence(size, rng), rng, noise)
    assert not found.bound
    assert found.draws.mean() == pytest.approx(size, abs=0.15)


def test_a_difference_of_one_group_that_varies_by_person_and_sentence_is_found(rng):
    (found,) = sentences(by_person_in_sentence((0.0, 0.6), rng), rng, noise=0.05)
    assert found.draws.mean() == pytest.approx(0.6, abs=0.08)
    assert (found.draws > LIMIT).all()


@pytest.mark.parametrize("repeats", [True, False])
def test_equal_variation_between_persons_of_both_groups_is_not_an_effect_of_the_attribute(repeats, rng):
    found = sentences(by_person_in_sentence((0.6, 0.6), rng), rng, 0.05, repeats=repeats)
    assert all((effect.draws > LIMIT).mean() < 0.05 for effect in found)


def test_a_difference_of_one_person_in_all_sentences_is_not_an_effect_of_the_attribute(rng):
    (found,) = sentences(by_person(1.0, rng), rng, noise=0.05)
    assert found.draws.mean() < 0.1


def test_without_repeated_answers_unequal_noise_gives_only_an_upper_bound(rng):
    found, bound = sentences(by_person_in_sentence((0.0, 0.6), rng), rng, repeats=False)
    assert (found.bound, bound.bound) == (False, True)
    assert found.draws.mean() < 0.1 < bound.draws.mean()


def test_noise_in_one_group_only_is_not_an_effect_if_repeated_answers_show_it(rng):
    proven = []
    for _ in range(20):
        person, cell = (rng.permutation(np.arange(800) % count) for count in (PERSONS, SENTENCES))
        outputs = rng.normal(size=SENTENCES)[cell][:, None] + rng.normal(size=(800, 2)) * (0.0, 0.6)
        again = rng.normal(size=(50, 2, 3)) * np.array([0.0, 0.6])[:, None]
        cases = SingleCases(outputs[..., None], again[..., None], {"person": person})
        effects = text_effect(cases, (cell, SENTENCES), np.zeros((4000, 1)), LIMIT, rng)
        proven += [not effect.bound and (effect.draws > LIMIT).mean() > 0.9 for effect in effects]
    assert not any(proven)


def test_without_sentences_shared_by_two_persons_there_is_only_an_upper_bound_of_the_effect(rng):
    outputs = rng.normal(size=(300, 2, 1))
    cases = SingleCases(outputs, None, {"person": np.arange(300) % PERSONS})
    (found,) = text_effect(cases, (np.arange(300), 300), np.zeros((4000, 1)), LIMIT, rng)
    assert found.bound
    assert found.draws.mean() > 1


@pytest.mark.parametrize("labels", [2, 3, 10])
def test_the_effect_on_labels_is_the_share_of_changed_labels_whichever_labels_they_are(labels, rng):
    cell = rng.permutation(np.arange(800) % SENTENCES)
    label = rng.integers(0, labels, SENTENCES)
    turned = (label + np.where(np.arange(SENTENCES) % 5 == 0, rng.integers(1, labels, SENTENCES), 0)) % labels
    answers = np.column_stack([label, turned])[cell]
    cases = SingleCases.of_labels(
        answers, np.repeat(answers[:50, :, None], 3, axis=2), {"person": np.arange(800) % PERSONS}
    )
    assert cases.item_squares[:, 0] == pytest.approx((answers[:, 0] != answers[:, 1]).astype(float))
    (found,) = text_effect(cases, (cell, SENTENCES), cases.squared_means(rng, 4000), LIMIT, rng)
    assert (found.draws**2).mean() == pytest.approx(0.2, abs=0.02)
