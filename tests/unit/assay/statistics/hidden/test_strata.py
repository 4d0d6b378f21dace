"""Tests of effects within strata and of single items."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from assay.statistics.hidden.strata import (
    MOST_PAIRS,
    fitted_together,
    share_effects,
    stratum_effects,
    typical_effect,
)
from assay.statistics.intervals.alternation_effects import Profiles

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


def test_of_fifteen_values_only_the_pairs_with_the_largest_effects_are_judged(rng):
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


def test_a_stratum_of_three_cases_is_left_out_and_so_is_the_only_other_stratum(rng):
    profiles = profiles_of(rng.normal(size=100), rng)
    rare = np.array(["rare"] * 3 + ["common"] * 97)
    assert stratum_effects(profiles, {"kind": rare}, 0.1, rng) == ()


def test_chance_differences_between_several_values_are_shrunk_below_the_limit(rng):
    estimates = 0.05 * rng.normal(size=10)
    draws = estimates + 0.05 * rng.normal(size=(4000, 10))
    pairs = np.stack([draws[:, b] - draws[:, a] for a, b in combinations(range(10), 2)], axis=1)
    raw, fitted = (np.abs(one).max(axis=1) for one in (pairs, fitted_together(pairs, 0.1, rng)))
    assert (raw > 0.1).mean() > 0.9
    assert (fitted > 0.1).mean() < 0.5


@pytest.mark.parametrize("values", [3, 10])
def test_a_single_attribute_value_that_is_treated_differently_is_still_detected_among_several(values, rng):
    draws = 0.02 * rng.normal(size=values) + 0.02 * rng.normal(size=(4000, values))
    draws[:, 1] += 0.3
    pairs = np.stack([draws[:, b] - draws[:, a] for a, b in combinations(range(values), 2)], axis=1)
    fitted = fitted_together(pairs, 0.1, rng)
    assert np.abs(fitted).max(axis=1).mean() == pytest.approx(0.3, abs=0.1)
    assert fitted[:, 0].mean() == pytest.approx(pairs[:, 0].mean(), abs=0.03)
    assert np.array_equal(fitted_together(pairs[:, :1], 0.1, rng), pairs[:, :1]), (
        "two values have nothing to be fitted with"
    )


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


@pytest.mark.parametrize("rounding", [1 - 1e-15, 1, 1 + 1e-15])
def test_rounding_does_not_decide_which_of_two_opposite_shares_is_fitted(rng, rounding):
    away = rng.normal([0.1, 0.3], 0.05, (2000, 2))
    strata = {
        name: (of.mean() * np.array([1, -1]), np.stack([of, -of * rounding], axis=1))
        for name, of in (("up", away[:, 0]), ("down", away[:, 1]))
    }
    effects = share_effects(strata, np.full(2, 0.5), 0.1, np.random.default_rng(5))
    exact = {name: (mean, np.stack([draws[:, 0], -draws[:, 0]], axis=1)) for name, (mean, draws) in strata.items()}
    expected = share_effects(exact, np.full(2, 0.5), 0.1, np.random.default_rng(5))
    for effect, expected_effect in zip(effects, expected, strict=True):
        np.testing.assert_allclose(effect.draws, expected_effect.draws, rtol=1e-9)


@pytest.mark.parametrize("apart", [0.0, 0.1, 0.3])
def test_the_effect_in_a_typical_sentence_frame_is_recovered_although_words_differ_too(apart, rng):
    frames, words = rng.integers(0, 8, 3200), rng.integers(0, 9, 3200)
    leans = apart * (-1.0) ** frames + rng.normal(0, 0.2, 9)[words] + rng.normal(0, 0.5, 3200)
    drawn, bound = typical_effect(np.zeros(4000), leans, frames.astype(str), [words.astype(str)], 0.1, rng)
    assert not bound
    assert drawn.mean() == pytest.approx(apart, abs=0.025)


def test_the_effect_in_a_typical_sentence_frame_needs_two_frames_with_ten_cases_each(rng):
    frames, words = np.repeat(["a", "b"], 10), np.tile(["x", "y"], 10)
    leans = np.where(frames == "a", 0.4, -0.4) + rng.normal(0, 0.1, 20)
    draws, bound = typical_effect(np.zeros(4000), leans, frames, (words,), 0.1, rng)
    assert not bound
    assert draws.mean() == pytest.approx(0.4, abs=0.05)
    assert typical_effect(np.zeros(4000), leans[1:], frames[1:], (words[1:],), 0.1, rng) is None


def test_the_effect_in_a_typical_sentence_frame_is_less_certain_if_it_depends_on_the_word(rng):
    frames, words = (each.astype(str) for each in np.divmod(np.arange(640) // 10, 8))
    of_cell = rng.normal(0, 0.2, 64)[np.arange(640) // 10]
    made = [
        typical_effect(np.zeros(4000), leans, frames, (words,), 0.1, np.random.default_rng(1))
        for leans in (of_cell + rng.normal(0, 0.1, 640), rng.normal(0, 0.22, 640))
    ]
    spread = [np.quantile(draws, 0.95) - np.quantile(draws, 0.05) for draws, _ in made]
    assert spread[0] > 1.5 * spread[1]


def test_the_effect_in_a_typical_sentence_frame_includes_the_mean_effect(rng):
    frames = rng.integers(0, 8, 3200)
    drawn, _ = typical_effect(np.full(4000, 0.4), 0.3 * (-1.0) ** frames, frames.astype(str), [], 0.1, rng)
    assert drawn == pytest.approx(0.5, abs=0.01)


def test_sentence_frames_that_each_occur_with_one_word_only_give_an_upper_bound_of_the_effect(rng):
    frames = rng.integers(0, 8, 800).astype(str)
    terms = rng.integers(0, 9, 800).astype(str)
    assert typical_effect(np.zeros(4000), rng.normal(size=800), frames, [frames, terms], 0.1, rng)[1]


def test_sentences_without_a_shared_frame_have_no_typical_frame_effect(rng):
    frames = np.arange(100).astype(str)
    assert typical_effect(np.zeros(4000), rng.normal(size=100), frames, [], 0.1, rng) is None
