"""Tests of intervals of the worst block's effect: coverage, also in cases where plain quantiles fail."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from assay.statistics.bayes.transition import draw_transitions, step_effects
from assay.statistics.intervals import worst_block
from assay.statistics.intervals.credible import absolute_value_interval, equal_tailed
from assay.statistics.intervals.worst_block import largest_interval, step_intervals

UNBIASED, BIASED = [[0.5, 0.5]], [[0.1, 0.9], [0.9, 0.1]]


def matrix(he, she, lost=0.0):
    """Return a transition matrix from the shares of he and of she that become he, and the lost share."""
    return np.array([[one * (1 - lost), (1 - one) * (1 - lost), lost] for one in (he, she)])


def stated(counts, seed=1, *, neutral=False, biased=BIASED, draws=4000):
    transitions = draw_transitions(counts, np.random.default_rng(seed), draws)
    effects = step_effects(transitions, UNBIASED, biased, neutral=neutral)
    found = step_intervals(effects, transitions, UNBIASED, biased, observed=np.asarray(counts) > 0, neutral=neutral)
    return found, effects


@pytest.mark.slow
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize(
    ("he", "she", "lost"),
    [
        (0.5, 0.5, 0.0),  # balances every input: no effect
        (0.75, 0.25, 0.0),  # flips both values equally often: two blocks are equally bad
        (0.9, 0.1, 0.2),  # flips both values equally often and loses some
        (0.55, 0.45, 0.05),
        (0.8, 0.3, 0.0),  # one block is clearly the worst
        (0.7, 0.7, 0.0),  # ignores its input
    ],
)
def test_intervals_of_the_effects_of_both_steps_have_their_nominal_coverage(he, she, lost, neutral):
    rng, runs, pronouns = np.random.default_rng(7), 200, 80
    true = matrix(he, she, lost)
    truth = step_effects(true[None], UNBIASED, BIASED, neutral=neutral)
    held = np.zeros(2)
    for _ in range(runs):
        counts = np.stack([rng.multinomial(pronouns, row) for row in true])
        found, _ = stated(counts, int(rng.integers(2**31)), neutral=neutral, draws=1000)
        for at, (name, one) in enumerate((("step_1", truth.step_1), ("step_2", truth.step_2))):
            held[at] += found[name].low - 1e-12 <= one[0] <= found[name].high + 1e-12
    assert (held / runs > 0.88).all()  # measured: .90 to .98 of 2,000 runs
    assert (held / runs < 0.996).all() or (he, she) == (0.5, 0.5)


def test_the_intervals_of_a_faithful_service_contain_zero_and_the_bias_of_its_input():
    found, _ = stated([[40, 0, 0], [0, 40, 0]])
    assert found["step_1"].low == 0
    assert found["step_1"].high < 0.06
    assert found["step_2"].low < 0.4 <= found["step_2"].high + 1e-12


def test_the_intervals_of_a_service_with_constant_output_contain_its_effect():
    found, _ = stated([[40, 0, 0], [40, 0, 0]])
    assert found["step_1"].low < 0.5 <= found["step_1"].high + 1e-12
    assert found["step_2"].low < 0.5 <= found["step_2"].high + 1e-12


def test_the_limits_of_an_effect_are_quantiles_if_one_input_block_is_clearly_the_worst():
    found, effects = stated([[800, 200, 10], [450, 550, 10]])
    plain = equal_tailed(effects.step_2)
    assert [found["step_2"].low, found["step_2"].high] == pytest.approx([plain.low, plain.high], abs=0.002)
    assert found["step_2"].estimate == pytest.approx(effects.step_2.mean())


def test_two_equally_bad_input_blocks_reduce_the_lower_limit_of_the_effect():
    found, effects = stated([[300, 100, 0], [100, 300, 0]])
    assert found["step_2"].low < equal_tailed(effects.step_2).low - 0.005
    assert found["step_2"].high == pytest.approx(equal_tailed(effects.step_2).high, abs=0.01)


def test_swapping_the_two_attribute_values_does_not_change_the_intervals():
    counts = np.array([[31, 8, 1], [14, 25, 1]])
    transitions = draw_transitions(counts, np.random.default_rng(3))
    mirrored = transitions[:, ::-1][:, :, [1, 0, 2]]
    one, other = (
        step_intervals(step_effects(each, UNBIASED, BIASED), each, UNBIASED, BIASED, observed=seen > 0)
        for each, seen in ((transitions, counts), (mirrored, counts[::-1][:, [1, 0, 2]]))
    )
    for step, found in one.items():
        assert [found.low, found.high] == pytest.approx([other[step].low, other[step].high])


def test_outputs_without_an_attribute_value_count_as_an_effect_unless_they_are_declared_harmless():
    counts = [[1, 1, 38], [1, 1, 38]]
    assert stated(counts)[0]["step_1"].low > 0.8
    assert stated(counts, neutral=True)[0]["step_1"].high < 0.1


def test_without_the_observed_counts_the_interval_of_a_faithful_service_excludes_zero():
    counts = np.array([[40, 0, 0], [0, 40, 0]])
    transitions = draw_transitions(counts, np.random.default_rng(1), 4000)
    effects = step_effects(transitions, UNBIASED, BIASED)
    unsaid = step_intervals(effects, transitions, UNBIASED, BIASED)
    assert unsaid["step_1"].low > 0


def test_an_attribute_value_without_observations_makes_the_effect_uncertain():
    found, _ = stated([[40, 0, 0], [0, 0, 0]])
    assert found["step_2"].high - found["step_2"].low > 0.3


def test_the_effect_is_the_distance_from_the_nearest_of_several_declared_distributions():
    counts = np.array([[90, 10, 0], [10, 90, 0]])
    transitions = draw_transitions(counts, np.random.default_rng(4), 4000)
    declared = [[0.5, 0.5], [0.9, 0.1]]
    effects = step_effects(transitions, declared, [[0.7, 0.3]])
    found = step_intervals(effects, transitions, declared, [[0.7, 0.3]], observed=counts > 0)["step_2"]
    # an input of .7 he gives .66 he, which is nearer to .5 than to .9
    assert found.low < 0.16 < found.high
    assert found.high < 0.24


def test_for_many_outputs_a_selection_of_output_sets_gives_the_same_interval_as_all_sets(monkeypatch):
    values = 6
    rng = np.random.default_rng(5)
    counts = rng.multinomial(60, np.full(values + 1, 1 / (values + 1)), size=values) + 40 * np.eye(values, values + 1)
    shares = np.full((1, values), 1 / values)
    towards = np.full((1, values), 0.06)
    towards[0, 0] = 1 - 0.06 * (values - 1)
    transitions = draw_transitions(counts, rng, 2000)
    effects = step_effects(transitions, shares, towards)
    some = step_intervals(effects, transitions, shares, towards, observed=counts > 0)
    monkeypatch.setattr(worst_block, "EVERY_SET", 7)
    every = step_intervals(effects, transitions, shares, towards, observed=counts > 0)
    for step, one in every.items():
        assert [some[step].low, some[step].high] == pytest.approx([one.low, one.high], abs=0.02)


# ---------------------------------------------------------------------------- the largest of several differences
def between(groups):
    """Return the differences between every two columns."""
    return np.stack([groups[:, b] - groups[:, a] for a, b in combinations(range(groups.shape[1]), 2)], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "means", [(0, 0, 0), (0, 0, 0, 0, 0), (0, 1, 2), (0, 0, 3), (-2, 2, 0, 0), (0, 0.5, 1, 1.5, 2)], ids=str
)
def test_the_interval_of_the_largest_difference_has_its_nominal_coverage(means):
    rng, held, runs = np.random.default_rng(11), 0, 400
    for _ in range(runs):
        draws = np.array(means) + rng.normal(size=len(means)) + rng.normal(size=(4000, len(means)))
        found = largest_interval(between(draws))
        held += found.low <= np.ptp(means) <= found.high
    assert 0.92 <= held / runs <= 0.985  # measured: .942 to .973 of 2,000 runs


def test_the_interval_of_a_single_difference_is_that_of_its_absolute_value():
    draws = np.random.default_rng(2).normal(-0.4, 0.1, (4000, 1))
    assert largest_interval(draws) == absolute_value_interval(draws[:, 0])


def test_signs_and_order_do_not_change_the_largest_difference():
    draws = np.random.default_rng(3).normal((0, 0.2, 0.7), 0.2, (2000, 3))
    once = largest_interval(draws)
    for other in (-draws, draws[:, ::-1], draws * [1, -1, 1]):
        again = largest_interval(other)
        assert [again.estimate, again.low, again.high] == pytest.approx([once.estimate, once.low, once.high])


def test_the_interval_of_a_clear_largest_difference_excludes_zero():
    draws = np.random.default_rng(4).normal((0, 0.1, 5), 0.5, (2000, 3))
    found = largest_interval(draws)
    assert found.low == pytest.approx(5 - 1.96 * 0.5, abs=0.15)
    assert found.high == pytest.approx(5 + 1.96 * 0.5, abs=0.15)


def test_the_interval_of_the_largest_of_very_many_differences_needs_little_memory():
    draws = between(np.random.default_rng(5).normal([0.0] * 49 + [3.0], 0.2, (2000, 50)))
    tracemalloc.start()
    found = largest_interval(draws)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.low < 3 < found.high
    assert found.low > 2
    assert peak < 5 * draws.nbytes
