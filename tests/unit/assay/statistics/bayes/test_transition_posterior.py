"""Tests of the posterior of a transition matrix: recovery, calibration, symmetry."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import BadDistribution, OutOfBounds
from assay.statistics.bayes.transition import draw_transitions, outputs_under, step_effects
from assay.statistics.intervals.credible import equal_tailed

UNBIASED, BIASED = [[0.5, 0.5]], [[0.1, 0.9], [0.9, 0.1]]


def exactly(matrix) -> np.ndarray:
    """Return a transition matrix that is known exactly, as a single draw."""
    return np.array([matrix], dtype=float)


FAITHFUL = [[1, 0, 0], [0, 1, 0]]
ALWAYS_HE = [[1, 0, 0], [1, 0, 0]]
BALANCING = [[0.5, 0.5, 0], [0.5, 0.5, 0]]
ERASING = [[0, 0, 1], [0, 0, 1]]
FLIPPING_30 = [[1, 0, 0], [0.3, 0.7, 0]]


@pytest.mark.parametrize(
    ("service", "step_1", "step_2"),
    [
        (FAITHFUL, 0.0, 0.4),
        (ALWAYS_HE, 0.5, 0.5),
        (BALANCING, 0.0, 0.0),
        (ERASING, 1.0, 1.0),
        (FLIPPING_30, 0.15, 0.43),
    ],
)
def test_services_of_known_behaviour_have_the_expected_effects(service, step_1, step_2):
    effects = step_effects(exactly(service), UNBIASED, BIASED)
    assert effects.step_1 == pytest.approx([step_1], abs=1e-12)
    assert effects.step_2 == pytest.approx([step_2], abs=1e-12)


@pytest.mark.parametrize(
    ("service", "step_1", "step_2"),
    [
        (ERASING, 0.0, 0.0),
        (ALWAYS_HE, 0.5, 0.5),
        ([[0.5, 0, 0.5], [0, 0.5, 0.5]], 0.0, 0.2),  # half the outputs are neutral, which halves the effect
    ],
)
def test_outputs_that_are_declared_neutral_count_as_no_effect(service, step_1, step_2):
    effects = step_effects(exactly(service), UNBIASED, BIASED, neutral=True)
    assert effects.step_1 == pytest.approx([step_1], abs=1e-12)
    assert effects.step_2 == pytest.approx([step_2], abs=1e-12)


def test_if_no_output_is_neutral_effects_do_not_depend_on_how_neutral_outputs_would_count():
    transitions = draw_transitions([[30, 10], [12, 28]], np.random.default_rng(2), 200)
    padded = np.concatenate([transitions, np.zeros((200, 2, 1))], axis=2)
    lost, neutral = (step_effects(padded, UNBIASED, BIASED, neutral=neutral) for neutral in (False, True))
    assert neutral.step_1 == pytest.approx(lost.step_1, abs=1e-12)
    assert neutral.step_2 == pytest.approx(lost.step_2, abs=1e-12)


def test_the_effect_is_the_largest_distance_of_any_block_from_its_nearest_unbiased_distribution():
    unbiased = [[0.5, 0.5], [0.3, 0.7]]
    effects = step_effects(exactly(FLIPPING_30), unbiased, BIASED)
    # the outputs are (.65, .35) and (.51, .49); the nearest declared distribution to both is (.5, .5)
    assert effects.step_1 == pytest.approx([0.15], abs=1e-12)


def test_swapping_he_and_she_mirrors_the_outputs_and_keeps_the_effects():
    transitions = draw_transitions([[31, 5, 4], [14, 22, 4]], np.random.default_rng(3), 500)
    mirrored = transitions[:, ::-1][:, :, [1, 0, 2]]
    blocks = np.array([[0.5, 0.5], [0.2, 0.8]])
    straight = outputs_under(transitions, blocks)
    assert outputs_under(mirrored, blocks[:, ::-1]) == pytest.approx(straight[:, :, [1, 0, 2]], abs=1e-12)
    for neutral in (False, True):
        one, other = (step_effects(each, UNBIASED, BIASED, neutral=neutral) for each in (transitions, mirrored))
        assert other.step_1 == pytest.approx(one.step_1, abs=1e-12)
        assert other.step_2 == pytest.approx(one.step_2, abs=1e-12)


def test_draws_have_the_moments_of_the_dirichlet_posterior():
    counts = np.array([[17, 2, 1], [0, 0, 0]])
    drawn = draw_transitions(counts, np.random.default_rng(4), 40_000)
    weights = counts + 1 / 3
    total = weights.sum(axis=1, keepdims=True)
    mean = weights / total
    assert drawn.shape == (40_000, 2, 3)
    assert drawn.sum(axis=2) == pytest.approx(np.ones((40_000, 2)))
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.01)
    assert drawn.var(axis=0) == pytest.approx(mean * (1 - mean) / (total + 1), rel=0.05)


def test_a_row_without_observations_gets_finite_transition_probabilities_that_sum_to_one():
    drawn = draw_transitions([[0, 0, 0]], np.random.default_rng(5), 2_000)
    assert np.isfinite(drawn).all()
    assert drawn.sum(axis=2) == pytest.approx(np.ones((2_000, 1)))


def test_the_same_generator_gives_the_same_draws():
    one, other = (draw_transitions([[5, 1]], np.random.default_rng(6), 10) for _ in range(2))
    assert np.array_equal(one, other)


def simulated_services(rng, services=400, sentences=60):
    """Yield services drawn from the prior, each with simulated counts."""
    for truth in np.stack([rng.dirichlet([1 / 3] * 3, services) for _ in range(2)], axis=1):
        yield truth, np.stack([rng.multinomial(sentences, row) for row in truth])


@pytest.mark.slow
def test_intervals_of_effects_from_transition_counts_have_their_nominal_coverage():
    rng = np.random.default_rng(7)
    held = []
    for truth, counts in simulated_services(rng):
        drawn = draw_transitions(counts, rng, 800)
        true_effects, effects = step_effects(truth[None], UNBIASED, BIASED), step_effects(drawn, UNBIASED, BIASED)
        for name in ("step_1", "step_2"):
            limits = equal_tailed(getattr(effects, name), 0.9)
            held.append(limits.low <= getattr(true_effects, name)[0] <= limits.high)
    # two correlated intervals per run: the standard error is that of 400 independent ones, not 800
    assert np.mean(held) == pytest.approx(0.9, abs=3 * np.sqrt(0.9 * 0.1 / 400))


def test_the_probability_of_a_biased_step_is_calibrated():
    rng = np.random.default_rng(8)
    said, true = [], []
    for truth, counts in simulated_services(rng, services=600, sentences=20):
        drawn = draw_transitions(counts, rng, 500)
        said.append(float((step_effects(drawn, UNBIASED, BIASED).step_1 > 0.1).mean()))
        true.append(bool(step_effects(truth[None], UNBIASED, BIASED).step_1[0] > 0.1))
    said, true = np.array(said), np.array(true)
    for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.01)):
        bin_ = (said >= low) & (said < high)
        spread = np.sqrt((said[bin_] * (1 - said[bin_])).sum()) / bin_.sum()
        assert abs(said[bin_].mean() - true[bin_].mean()) <= 3.5 * spread


def test_forty_pronouns_per_block_mostly_reveal_a_service_that_flips_30_percent():
    rng, right = np.random.default_rng(9), []
    for _ in range(200):
        flipped = rng.binomial(60, 0.3)  # three blocks of 40 have 60 sentences about "her"
        drawn = draw_transitions([[60, 0, 0], [flipped, 60 - flipped, 0]], rng, 1_000)
        right.append((step_effects(drawn, UNBIASED, BIASED).step_1 > 0.1).mean() > 0.5)
    assert np.mean(right) >= 0.88


@pytest.mark.parametrize("counts", [[1, 2, 3], [[-1, 2]], [[np.nan, 2]], []])
def test_counts_that_are_not_a_valid_table_are_refused(counts):
    with pytest.raises(OutOfBounds):
        draw_transitions(counts, np.random.default_rng(0))


@pytest.mark.parametrize("blocks", [[[0.5, 0.3, 0.2]], [], [[]]])
def test_blocks_without_a_share_for_each_row_are_refused(blocks):
    with pytest.raises(BadDistribution):
        outputs_under(exactly(FAITHFUL), blocks)
