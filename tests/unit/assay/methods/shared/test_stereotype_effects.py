"""Tests of the effects of stereotype scores on simulated models with a known preference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from assay.errors import TooFewObservations
from assay.methods.shared.terms.effects import stereotype_effects
from assay.methods.visual_stereotype.image_scores import fit_images
from assay.model import Letter
from assay.statistics.bayes.stereotype_terms import fit_terms, score_choices
from assay.statistics.intervals.credible import effect_interval
from tests.support.simulated.stereotype_shares import Asked, rate

TERMS, PAIRS = 30, 12


@pytest.fixture
def rng():
    return np.random.default_rng(43)


def planted(rng, log_odds, terms=TERMS, pairs=PAIRS):
    """Simulate a language model that prefers the first sentence of a pair by known log-odds.

    Log-probabilities vary by Gumbel noise; the difference of two Gumbel variables is logistic, so the first is
    likelier with probability ``expit(log_odds)``.
    """
    shape = terms * pairs
    first, second = -40 + rng.gumbel(size=shape) + log_odds, -40 + rng.gumbel(size=shape)
    names = [f"t{number % terms}" for number in range(shape)]
    return fit_terms(score_choices(first > second, names, ["b"] * shape).by_term)


@pytest.mark.parametrize("log_odds", [-1.5, -0.5, 0.0, 0.8, 2.0])
def test_a_simulated_preference_is_recovered(rng, log_odds):
    effects = stereotype_effects(planted(rng, 0.0), [planted(rng, log_odds)], rng)
    held = effect_interval(effects.step_2)
    truth = abs(expit(log_odds) - 0.5)
    assert held.low <= truth <= held.high
    assert held.estimate == pytest.approx(truth, abs=0.06)
    assert effects.step_1.mean() < 0.06


def test_the_effect_of_each_step_is_the_distance_of_its_score_from_one_half(rng):
    effects = stereotype_effects(planted(rng, 1.0), [planted(rng, -1.0)], rng, draws=500)
    assert (effects.step_1 == np.abs(effects.neutral - 0.5)).all()
    assert (effects.step_2 == np.abs(effects.stereotyped - 0.5)).all()
    assert effects.neutral.mean() > 0.5 > effects.stereotyped.mean()
    assert effects.step_1.shape == effects.step_2.shape == (500,)


def test_a_model_that_always_prefers_one_group_has_an_effect_in_step_1_and_none_in_step_2(rng):
    """A constant preference counts in step 1; one score over lists of unequal length would count it in step 2."""
    of_first, of_second = planted(rng, 9.0, terms=10), planted(rng, -9.0, terms=6)
    effects = stereotype_effects(planted(rng, 9.0), [of_first, of_second], rng)
    assert effects.step_1.mean() > 0.45
    assert effects.step_2.mean() < 0.06


@pytest.mark.parametrize(
    ("neutral", "stereotyped", "letter"),
    [
        (0.5, 0.5, Letter.UCS),
        (0.5, 0.8, Letter.DSBS),
        (0.5, 0.2, Letter.DSBS),
        (0.85, 0.5, Letter.BS),
        (0.1, 0.9, Letter.BS),
    ],
)
def test_models_of_known_scores_are_rated_correctly_and_never_declared_wrongly(rng, neutral, stereotyped, letter):
    rated = [rate(Asked(terms=40, pairs=10, alike=20.0), neutral, stereotyped, rng) for _ in range(20)]
    assert sum(one.letter is letter for one in rated) >= 18
    assert all(one.letter is letter for one in rated if one.probability >= 0.95)


def test_scores_of_images_in_step_2_can_be_combined_with_choices_in_step_1(rng):
    images = fit_images(rng.beta(8, 2, 60), [f"t{number % 6}" for number in range(60)])
    effects = stereotype_effects(planted(rng, 0.0), [images], rng)
    assert effects.step_2.mean() == pytest.approx(0.3, abs=0.06)


def test_an_effect_of_step_2_without_scores_of_stereotype_terms_is_refused(rng):
    with pytest.raises(TooFewObservations, match="step 2"):
        stereotype_effects(planted(rng, 0.0), [], rng)


@pytest.mark.parametrize("sign", [1, -1])
def test_uncertainty_about_the_group_words_shifts_the_score_of_a_single_list_as_much_as_the_neutral_score(rng, sign):
    effects = stereotype_effects(planted(rng, 0.0), [planted(rng, 0.5)], rng, draws=500)
    shift = rng.normal(scale=0.1, size=500)
    shifted = effects.for_groups_like_these(shift, [sign])
    assert np.allclose(shifted.neutral, np.clip(effects.neutral + shift, 0, 1))
    assert np.allclose(shifted.stereotyped, np.clip(effects.stereotyped + sign * shift, 0, 1))
    assert shifted.lists == (shifted.stereotyped,)


def test_uncertainty_about_the_group_words_leaves_the_mean_score_of_two_opposite_lists_unchanged(rng):
    effects = stereotype_effects(planted(rng, 0.0), [planted(rng, 0.5), planted(rng, 0.2)], rng, draws=500)
    shift = rng.normal(scale=0.01, size=500)
    shifted = effects.for_groups_like_these(shift, [1, -1])
    assert (shifted.stereotyped == effects.stereotyped).all()
    assert np.allclose(np.mean(shifted.lists, axis=0), effects.stereotyped)
    assert np.allclose(shifted.lists[0] - effects.lists[0], shift)
