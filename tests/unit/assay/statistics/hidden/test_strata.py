"""Tests of effects within strata and of single items."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from assay.statistics.hidden.strata import (
    MOST_PAIRS,
    fitted_together,
    item_effect,
    share_effects,
    spread_effect,
    stratum_effects,
    typical_effect,
)
from assay.statistics.intervals.alternation_effects import Profiles, paired_draws

LIMIT = 0.25


@pytest.fixture
def rng():
    return np.random.default_rng(23)


def profiles_of(difference: np.ndarray, rng: np.random.Generator, **clusters: np.ndarray) -> Profiles:
    """Return profiles with normal outputs; the output under the second value is larger by `difference`."""
    base = rng.normal(size=len(difference))
    return Profiles(np.column_stack([base, base + difference]), ("a", "b"), clusters)


def test_opposite_effects_in_two_strata_are_found_although_the_mean_effect_is_zero(rng):
    side = np.where(rng.random(2000) < 0.5, "up", "down")
    profiles = profiles_of(np.where(side == "up", 0.5, -0.5) + rng.normal(0, 0.2, 2000), rng)
    found = {one.name: one.draws for one in stratum_effects(profiles, {"side": side}, 0.1, rng)}
    assert set(found) == {"side: up", "side: down"}
    assert all(draws.mean() == pytest.approx(0.45, abs=0.06) for draws in found.values())


def test_of_many_values_the_pairs_with_the_largest_effects_are_judged(rng):
    side = np.where(np.arange(400) % 2, "up", "down")
    outputs = rng.normal(size=400)[:, None] + rng.normal(0, 0.1, (400, 15))
    outputs[:, 7] += np.where(side == "up", 0.6, -0.6)
    names = tuple(f"v{place}" for place in range(15))
    found = stratum_effects(Profiles(outputs, names, {}), {"side": side}, 0.1, rng)
    beyond = {one.name for one in found if one.draws.mean() > 0.3}
    assert len(found) == 2 * MOST_PAIRS
    assert len(beyond) == 2 * 14
    assert all("v7" in name for name in beyond)


def test_only_a_difference_that_noise_cannot_explain_in_any_pair_or_stratum_proves_a_bias(rng):
    side = np.where(np.arange(200) % 2, "up", "down")
    names = tuple(f"v{place}" for place in range(8))
    noisy = rng.normal(size=200)[:, None] + rng.normal(0, 1, (200, 8))
    found = stratum_effects(Profiles(noisy, names, {}), {"side": side}, 0.1, rng)
    assert max(one.draws.mean() for one in found) > 0.1, "by chance, some pair differs by more than the tolerance"
    assert all(one.bound for one in found)
    noisy[side == "up", 3] += 2
    proven = {
        one.name for one in stratum_effects(Profiles(noisy, names, {}), {"side": side}, 0.1, rng) if not one.bound
    }
    assert proven
    assert all("side: up" in name and "v3" in name for name in proven)


def test_a_mean_that_may_be_noise_is_left_out_of_the_effect_on_a_typical_text(rng):
    profiles = profiles_of(rng.normal(0.4, 0.1, 400), rng, frame=np.arange(400) % 10)
    means = paired_draws(profiles, rng)
    assert spread_effect(profiles, means, LIMIT, rng).draws.mean() == pytest.approx(0.4, abs=0.05)
    assert spread_effect(profiles, means, LIMIT, rng, noise=True).draws.mean() < 0.05


def test_many_values_without_an_effect_have_no_effect_on_single_items(rng):
    outputs = rng.normal(size=400)[:, None] + rng.normal(0, 0.1, (400, 15))
    repeats = outputs[:50, :, None] + rng.normal(0, 0.1, (50, 15, 3))
    repeats[:, :, 0] = outputs[:50]
    profiles = Profiles(outputs, tuple(f"v{place}" for place in range(15)), {})
    assert np.quantile(item_effect(profiles, repeats, LIMIT, rng).draws, 0.95) < LIMIT


def test_a_stratum_of_few_profiles_and_a_family_with_a_single_stratum_are_left_out(rng):
    profiles = profiles_of(rng.normal(size=100), rng)
    rare = np.array(["rare"] * 3 + ["common"] * 97)
    assert stratum_effects(profiles, {"kind": rare}, 0.1, rng) == ()


@pytest.mark.parametrize("truth", [0.0, 0.2, 0.4])
def test_spread_between_contents_is_recovered(truth, rng):
    contents, frames = np.arange(4000) % 32, np.arange(4000) // 32 % 6
    word = rng.normal(0, truth, 32)[contents]
    profiles = profiles_of(word + rng.normal(0, 0.5, 4000), rng, content=contents, frame=frames)
    drawn = spread_effect(profiles, paired_draws(profiles, rng), LIMIT, rng).draws
    assert drawn.mean() == pytest.approx(np.sqrt(np.mean(word**2)) / profiles.scale, abs=0.07)


def test_noise_between_repeated_answers_is_not_counted_as_an_effect_on_items(rng):
    profiles = profiles_of(rng.normal(0, 0.6, 3000), rng)  # pure noise: sd .6 for both values together
    repeats = rng.normal(0, 0.6 / np.sqrt(2), (200, 2, 3))
    found = item_effect(profiles, repeats, LIMIT, rng)
    assert float((found.draws > LIMIT).mean()) < 0.05


@pytest.mark.parametrize(("noise", "effect"), [(0.6, 0.6), (0.6, 0.0), (0.1, 0.0)])
def test_under_large_noise_an_effect_on_items_must_also_show_in_repeated_items(noise, effect, rng):
    found = []
    for _ in range(60):
        sign = effect * rng.choice([-1.0, 1.0], 3000)
        profiles = profiles_of(sign + noise * rng.normal(size=3000), rng)
        repeats = noise / np.sqrt(2) * rng.normal(size=(50, 2, 3))
        repeats[:, 1] += sign[:50, None]
        found.append(item_effect(profiles, repeats, LIMIT, rng))
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
    found = [item_effect(profiles, again(rng), LIMIT, rng) for _ in range(60)]
    assert np.mean([one.draws.mean() < 0.45 for one in found]) < 0.1
    assert np.mean([one.bound for one in found]) > 0.9


@pytest.mark.parametrize("drift", [0.0, 2.0])
def test_the_noise_of_a_service_that_drifts_is_still_estimated(drift, rng):
    profiles = profiles_of(rng.normal(0, 0.6, 3000), rng)
    noise = [rng.normal(0, 0.6 / np.sqrt(2), (50, 2, 3)) + drift * np.arange(3) for _ in range(60)]
    found = [item_effect(profiles, one, LIMIT, rng) for one in noise]
    # the noise is .6 times the output's standard deviation
    assert np.mean([(one.draws < 2 * LIMIT).mean() > 0.9 for one in found]) > 0.85


def test_rare_outliers_that_no_repeated_item_shows_give_only_an_upper_bound(rng):
    wild = np.where(rng.random(3000) < 0.002, 12.0, 0.0)
    found = item_effect(profiles_of(wild, rng), rng.normal(0, 0.01, (50, 2, 3)), LIMIT, rng)
    assert found.draws.mean() > LIMIT
    assert found.bound, "what is carried by so few rows would hardly be among 50 that are asked again"


@pytest.mark.parametrize("items", [0, 1, 4, 5])
def test_fewer_than_five_repeated_items_give_only_an_upper_bound(items, rng):
    found = item_effect(profiles_of(np.full(500, 0.5), rng), np.zeros((items, 2, 3)), LIMIT, rng)
    assert found.bound == (items < 5)
    assert found.draws.mean() == pytest.approx(0.5, abs=0.05)


def test_records_without_any_difference_have_no_effect_on_items(rng):
    found = item_effect(profiles_of(np.zeros(500), rng), np.zeros((50, 2, 3)), LIMIT, rng)
    assert not found.bound
    assert not found.draws.any()


def test_noise_is_not_counted_as_an_effect_of_the_noisiest_of_many_pairs_of_values(rng):
    beyond = []
    for _ in range(20):
        clean = rng.normal(size=(1000, 1))
        profiles = Profiles(clean + 0.7 * rng.normal(size=(1000, 8)), tuple("abcdefgh"), {})
        found = item_effect(profiles, clean[:50, :, None] + 0.7 * rng.normal(size=(50, 8, 3)), LIMIT, rng)
        beyond.append(not found.bound and float((found.draws > LIMIT).mean()) > 0.95)
    assert sum(beyond) <= 1


def test_chance_differences_between_several_values_are_shrunk_below_the_limit(rng):
    estimates = 0.05 * rng.normal(size=10)
    draws = estimates + 0.05 * rng.normal(size=(4000, 10))
    pairs = np.stack([draws[:, b] - draws[:, a] for a, b in combinations(range(10), 2)], axis=1)
    raw, fitted = (np.abs(one).max(axis=1) for one in (pairs, fitted_together(pairs, 0.1, rng)))
    assert (raw > 0.1).mean() > 0.9
    assert (fitted > 0.1).mean() < 0.5


@pytest.mark.parametrize("values", [3, 10])
def test_one_value_that_differs_is_still_found_among_several(values, rng):
    draws = 0.02 * rng.normal(size=values) + 0.02 * rng.normal(size=(4000, values))
    draws[:, 1] += 0.3
    pairs = np.stack([draws[:, b] - draws[:, a] for a, b in combinations(range(values), 2)], axis=1)
    fitted = fitted_together(pairs, 0.1, rng)
    assert np.abs(fitted).max(axis=1).mean() == pytest.approx(0.3, abs=0.1)
    assert fitted[:, 0].mean() == pytest.approx(pairs[:, 0].mean(), abs=0.03)
    assert np.array_equal(fitted_together(pairs[:, :1], 0.1, rng), pairs[:, :1]), (
        "two values have nothing to be fitted with"
    )


def test_negligible_noise_in_repeated_answers_does_not_turn_an_effect_into_an_upper_bound(rng):
    profiles = profiles_of(0.5 * rng.choice([-1.0, 1.0], 3000), rng)
    repeats = later(rng.normal(0, 1e-9, (50, 2, 2)))
    assert not item_effect(profiles, repeats, LIMIT, rng).bound


def test_an_effect_whose_sign_differs_between_items_is_found(rng):
    sign = rng.choice([-1.0, 1.0], 3000)
    profiles = profiles_of(0.5 * sign, rng)
    found = item_effect(profiles, np.zeros((50, 2, 3)), LIMIT, rng)
    assert found.draws.mean() == pytest.approx(0.5 / profiles.scale, abs=0.02)
    assert (found.draws > LIMIT).all()


def test_without_repeated_items_there_is_only_an_upper_bound_of_the_effect_on_items(rng):
    found = item_effect(profiles_of(rng.normal(0, 0.6, 500), rng), None, LIMIT, rng)
    assert found.bound
    assert found.draws.mean() > 0.4


def test_opposite_deviations_of_shares_in_two_strata_are_found(rng):
    away = np.array([0.2, -0.2])
    strata = {"up": away, "down": -away}
    drawn = {name: (one, one + rng.normal(0, 0.02, (2000, 1)) * [1, -1]) for name, one in strata.items()}
    found = share_effects(drawn, np.full(2, 0.5), 0.1, rng)
    assert [one.name for one in found] == ["up", "down"]
    assert all(one.draws.mean() == pytest.approx(0.2, abs=0.02) for one in found)


def test_the_effect_of_two_shares_is_as_uncertain_as_either_share(rng):
    # the shares of two values differ from one half by opposite numbers
    away = rng.normal(0.3, 0.05, (20_000, 1)) * [1, -1]
    (found,) = share_effects({"all": (away.mean(axis=0), away)}, np.full(2, 0.5), 0.1, rng)
    assert found.draws.std() == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize("apart", [0.0, 0.1, 0.3])
def test_the_effect_of_a_typical_frame_is_recovered_although_words_differ_too(apart, rng):
    frames, words = rng.integers(0, 8, 3200), rng.integers(0, 9, 3200)
    leans = apart * (-1.0) ** frames + rng.normal(0, 0.2, 9)[words] + rng.normal(0, 0.5, 3200)
    drawn, bound = typical_effect(np.zeros(4000), leans, frames.astype(str), [words.astype(str)], 0.1, rng)
    assert not bound
    assert drawn.mean() == pytest.approx(apart, abs=0.025)


def test_the_effect_of_a_typical_frame_needs_two_frames_with_ten_cases_each(rng):
    frames, words = np.repeat(["a", "b"], 10), np.tile(["x", "y"], 10)
    leans = np.where(frames == "a", 0.4, -0.4) + rng.normal(0, 0.1, 20)
    draws, bound = typical_effect(np.zeros(4000), leans, frames, (words,), 0.1, rng)
    assert not bound
    assert draws.mean() == pytest.approx(0.4, abs=0.05)
    assert typical_effect(np.zeros(4000), leans[1:], frames[1:], (words[1:],), 0.1, rng) is None


def test_the_effect_of_a_typical_frame_is_less_certain_if_it_depends_on_the_word(rng):
    frames, words = (each.astype(str) for each in np.divmod(np.arange(640) // 10, 8))
    of_cell = rng.normal(0, 0.2, 64)[np.arange(640) // 10]
    made = [
        typical_effect(np.zeros(4000), leans, frames, (words,), 0.1, np.random.default_rng(1))
        for leans in (of_cell + rng.normal(0, 0.1, 640), rng.normal(0, 0.22, 640))
    ]
    spread = [np.quantile(draws, 0.95) - np.quantile(draws, 0.05) for draws, _ in made]
    assert spread[0] > 1.5 * spread[1]


def test_the_effect_of_a_typical_frame_includes_the_mean_effect(rng):
    frames = rng.integers(0, 8, 3200)
    drawn, _ = typical_effect(np.full(4000, 0.4), 0.3 * (-1.0) ** frames, frames.astype(str), [], 0.1, rng)
    assert drawn == pytest.approx(0.5, abs=0.01)


def test_frames_that_each_occur_with_one_word_only_give_an_upper_bound(rng):
    frames = rng.integers(0, 8, 800).astype(str)
    terms = rng.integers(0, 9, 800).astype(str)
    assert typical_effect(np.zeros(4000), rng.normal(size=800), frames, [frames, terms], 0.1, rng)[1]


def test_sentences_without_a_shared_frame_have_no_typical_frame_effect(rng):
    frames = np.arange(100).astype(str)
    assert typical_effect(np.zeros(4000), rng.normal(size=100), frames, [], 0.1, rng) is None
