"""Tests of the partition test: counts equal to enumeration, and sampling for larger groups."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from assay.errors import EvidenceError, SpecificationError, TooFewObservations
from assay.statistics.embeddings.weat import DRAWS, EXACT_UP_TO, partition_test


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def enumerated(first, second):
    """Return the differences of means of all partitions and the observed difference, as exact integers."""
    members = [*first, *second]
    n, m, total = len(first), len(second), sum(members)
    differences = [
        (n + m) * sum(chosen) - n * total for chosen in itertools.combinations(members, n)
    ]  # multiplied by n m, so that ties are exact integers
    return differences, (n + m) * sum(first) - n * total


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (2, 2), (3, 5), (5, 2), (5, 5), (6, 6)])
def test_the_exact_partition_test_equals_brute_force(n, m, rng):
    for _ in range(20):
        first, second = rng.integers(-4, 5, n).tolist(), rng.integers(-4, 5, m).tolist()
        differences, seen = enumerated(first, second)
        found, every = partition_test(first, second), math.comb(n + m, n)
        assert (found.partitions, found.p_method) == (every, "exact")
        assert found.p_one_sided == sum(one >= seen for one in differences) / every
        assert found.p_strict == sum(one > seen for one in differences) / every
        assert found.p_two_sided == sum(abs(one) >= abs(seen) for one in differences) / every
        assert found.p_one_sided_error == found.p_two_sided_error == 0


def test_the_exact_partition_test_equals_the_permutation_test_of_scipy(rng):
    first, second = rng.normal(0.5, 1, 6), rng.normal(0, 1, 5)

    def difference(x, y, axis):
        return x.mean(axis=axis) - y.mean(axis=axis)

    theirs = stats.permutation_test((first, second), difference, alternative="greater", vectorized=True)
    assert partition_test(first, second).p_one_sided == pytest.approx(theirs.pvalue, abs=1e-12)


def test_the_two_sided_p_value_of_groups_of_equal_size_is_twice_the_smaller_tail(rng):
    for _ in range(20):
        first, second = rng.normal(size=(2, 8))
        found = partition_test(first, second)
        assert found.p_two_sided == pytest.approx(2 * min(found.p_one_sided, 1 - found.p_strict), abs=1e-12)


def test_swapping_the_groups_keeps_the_two_sided_p_value_and_mirrors_the_one_sided_p_value(rng):
    first, second = rng.normal(size=7), rng.normal(size=4)
    straight, swapped = partition_test(first, second), partition_test(second, first)
    assert swapped.p_two_sided == straight.p_two_sided
    assert swapped.p_one_sided == pytest.approx(1 - straight.p_strict, abs=1e-12)


def test_shifting_and_scaling_the_numbers_does_not_change_the_partition_test(rng):
    first, second = rng.normal(size=6), rng.normal(size=9)
    assert partition_test(3 * first + 40, 3 * second + 40) == partition_test(first, second)


def test_a_partition_test_of_equal_groups_has_p_one():
    found = partition_test([1, 2, 3], [3, 2, 1])
    assert found.p_two_sided == 1
    assert found.p_one_sided > 0.5


def test_the_largest_difference_between_groups_of_20_has_the_smallest_possible_p_value():
    found = partition_test(np.arange(20) + 100, np.arange(20))
    assert found.partitions == math.comb(EXACT_UP_TO, 20)
    assert found.p_one_sided == 1 / math.comb(40, 20)
    assert found.p_two_sided == 2 / math.comb(40, 20)
    assert found.p_strict == 0


def test_sampled_p_values_agree_with_counted_p_values_within_their_error(rng, monkeypatch):
    first, second = rng.normal(0.6, 1, 9), rng.normal(0, 1, 8)
    counted = partition_test(first, second)
    monkeypatch.setattr("assay.statistics.embeddings.weat.EXACT_UP_TO", 0)
    drawn = partition_test(first, second, rng)
    assert (drawn.p_method, drawn.partitions, drawn.p_strict) == ("monte-carlo", DRAWS, None)
    assert drawn.p_one_sided == pytest.approx(counted.p_one_sided, abs=4 * drawn.p_one_sided_error)
    assert drawn.p_two_sided == pytest.approx(counted.p_two_sided, abs=4 * drawn.p_two_sided_error)
    assert 0 < drawn.p_one_sided_error < 0.002


def test_the_same_seed_gives_the_same_sampled_p_value():
    numbers = np.random.default_rng(3).normal(size=(2, 25))
    assert partition_test(*numbers, np.random.default_rng(1)) == partition_test(*numbers, np.random.default_rng(1))


def test_a_sampled_p_value_is_never_zero(rng):
    assert partition_test(np.arange(30) + 100, np.arange(30), rng).p_one_sided == 1 / (DRAWS + 1)


@pytest.mark.slow
def test_a_true_null_is_rejected_at_the_nominal_rate(rng):
    ps = [partition_test(*rng.normal(size=(2, 6))).p_two_sided for _ in range(2000)]
    assert np.mean(np.array(ps) <= 0.05) == pytest.approx(0.05, abs=0.015)


def test_groups_too_large_to_count_are_refused_without_a_random_generator():
    with pytest.raises(SpecificationError, match="random generator"):
        partition_test(np.arange(21), np.arange(20))


def test_a_partition_test_with_an_empty_group_is_refused():
    with pytest.raises(TooFewObservations):
        partition_test([], [1, 2])


def test_a_partition_test_with_a_number_that_is_not_finite_is_refused():
    with pytest.raises(EvidenceError, match="1 of 2"):
        partition_test([1, math.nan], [1, 2])
