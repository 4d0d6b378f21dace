"""Tests of the Gaussian divergence: known values, refused samples, and the coverage of intervals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations, ZeroVariance
from assay.methods.alternation.gaussian_divergence import (
    Gaussian,
    gaussian_kl,
    gaussian_kl_interval,
    kl_by_fold,
    kl_of_folds,
)

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "kl.json"

unhurried = settings(deadline=None)  # no deadline: a slow machine must not fail a property test

samples = st.lists(st.integers(-100, 100), min_size=2, max_size=30).filter(lambda one: len(set(one)) > 1)


@pytest.fixture(scope="module")
def known():
    if not KNOWN.exists():
        pytest.skip("the shared known answers are not beside this project")
    return json.loads(KNOWN.read_text())


# ---------------------------------------------------------------------------- known values
def test_the_divergence_of_two_gaussians_has_its_known_values(known):
    for row in known["gaussian"]:
        found = Gaussian(row["m1"], row["s1"]).divergence_from(Gaussian(row["m2"], row["s2"]))
        assert found == pytest.approx(row["kl"], abs=1e-12)


def test_samples_are_fitted_with_population_variance(known):
    x, y = known["samples"]["x"], known["samples"]["y"]
    assert gaussian_kl(x, y) == pytest.approx(known["samples"]["kl_xy_ddof0"], rel=1e-12)
    assert gaussian_kl(y, x) == pytest.approx(known["samples"]["kl_yx_ddof0"], rel=1e-12)
    assert gaussian_kl(x, y) != pytest.approx(known["samples"]["kl_xy_ddof1"], rel=0.1)


def test_the_divergence_of_samples_without_variance_is_zero_if_they_are_equal_and_else_refused(known):
    for row in known["degenerate"]:
        if row["kl"] == "inf":
            with pytest.raises(ZeroVariance, match="both must vary"):
                gaussian_kl(row["x"], row["y"])
        else:
            assert gaussian_kl(row["x"], row["y"]) == row["kl"]


# ---------------------------------------------------------------------------- invariants
@unhurried
@given(samples, samples)
def test_the_divergence_is_never_negative_and_is_zero_for_equal_samples(x, y):
    assert gaussian_kl(x, y) >= 0
    assert gaussian_kl(x, x) == 0


@unhurried
@given(samples, samples, st.sampled_from([-3.0, 0.5, 10.0]), st.integers(-50, 50))
def test_the_divergence_does_not_depend_on_the_units(x, y, factor, offset):
    moved = [factor * np.array(one) + offset for one in (x, y)]
    assert gaussian_kl(*moved) == pytest.approx(gaussian_kl(x, y), rel=1e-6, abs=1e-9)


def test_without_an_effect_the_divergence_of_independent_samples_is_two_over_n_on_average():
    rng, n = np.random.default_rng(3), 100
    found = [gaussian_kl(*rng.normal(size=(2, n))) for _ in range(3_000)]
    assert np.mean(found) == pytest.approx(2 / n, rel=0.1)


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 2 / 3])
@pytest.mark.parametrize("n", [3, 10, 100, 1_000])
def test_a_gaussian_fitted_to_equal_values_has_a_standard_deviation_of_exactly_zero(value, n):
    assert Gaussian.of(np.full(n, value)) == Gaussian(value, 0.0)
    with pytest.raises(ZeroVariance):
        gaussian_kl(np.full(n, value), np.linspace(0, 1, n))


@pytest.mark.parametrize(
    ("x", "error"), [([1.0], TooFewObservations), ([], TooFewObservations), ([1.0, math.nan], EvidenceError)]
)
def test_too_few_or_non_finite_values_are_refused(x, error):
    with pytest.raises(error):
        gaussian_kl(x, [1.0, 2.0])


def test_a_divergence_too_large_for_a_float_is_refused():
    with pytest.raises(EvidenceError, match="too large"):
        Gaussian(0.0, 1.0).divergence_from(Gaussian(1e200, 1e-200))


# ---------------------------------------------------------------------------- intervals
def paired_normal(rng, n, shift, ratio, correlation):
    x = rng.normal(size=n)
    return x, shift + ratio * (correlation * x + math.sqrt(1 - correlation**2) * rng.normal(size=n))


@pytest.mark.parametrize(
    ("shift", "ratio", "correlation"), [(0.5, 1.0, 0.0), (0.5, 1.0, 0.8), (1.0, 1.3, 0.5), (0.0, 1.5, 0.9)]
)
def test_the_interval_of_paired_samples_covers_the_true_divergence(shift, ratio, correlation):
    truth = Gaussian(0.0, 1.0).divergence_from(Gaussian(shift, ratio))
    rng, held = np.random.default_rng(17), 0
    for _ in range(1_000):
        found = gaussian_kl_interval(*paired_normal(rng, 300, shift, ratio, correlation))
        held += found.low <= truth <= found.high
    assert 0.925 <= held / 1_000 <= 0.965


def test_the_interval_contains_zero_if_there_is_no_effect():
    rng = np.random.default_rng(18)
    lows = [gaussian_kl_interval(*rng.normal(size=(2, 100))).low for _ in range(1_000)]
    assert np.mean(np.array(lows) == 0) >= 0.95


def test_the_standard_error_equals_that_of_numerical_derivatives_of_the_divergence():
    rng = np.random.default_rng(19)
    x, y = paired_normal(rng, 40, 0.7, 1.4, 0.6)
    # finite differences: increase the weight of one pair slightly and measure how the divergence changes
    weight, moved = 1e-6, []
    for place in range(40):
        share = np.full(40, (1 - weight) / 40)
        share[place] += weight
        fits = [Gaussian(share @ one, math.sqrt(share @ (one - share @ one) ** 2)) for one in (x, y)]
        moved.append((fits[0].divergence_from(fits[1]) - gaussian_kl(x, y)) / weight)
    found = gaussian_kl_interval(x, y)
    assert (found.high - found.estimate) / 1.959963984540054 == pytest.approx(
        math.sqrt(np.mean(np.square(moved)) / 40), rel=1e-4
    )


def test_identical_samples_have_an_interval_of_width_zero():
    for x in ([1.0, 2.0, 4.0], [0.1, 0.1, 0.1]):
        found = gaussian_kl_interval(x, x)
        assert (found.low, found.estimate, found.high) == (0, 0, 0)


def test_an_interval_of_unpaired_samples_is_refused():
    with pytest.raises(OutOfBounds, match="same length"):
        gaussian_kl_interval([1, 2, 3], [1, 2])


# ---------------------------------------------------------------------------- folds
def test_every_pair_is_in_exactly_one_fold():
    rng = np.random.default_rng(20)
    x = rng.normal(size=103)
    folds = kl_by_fold(x, x + 1, 10, rng)
    assert sum(one.n for one in folds) == 103
    assert {one.n for one in folds} == {10, 11}
    assert sum(one.n * one.mean_x for one in folds) / 103 == pytest.approx(x.mean())
    assert all(one.mean_y - one.mean_x == pytest.approx(1) for one in folds)


def test_a_fold_has_at_least_two_pairs():
    assert [one.n for one in kl_by_fold([1, 2, 3, 4, 5], [2, 3, 4, 5, 7], 10, np.random.default_rng(1))] == [3, 2]


@pytest.mark.parametrize(
    ("x", "y", "why"), [([0.1] * 3, [2, 3, 4], "both must vary"), ([2, 3, 4], [0.1] * 3, "both must vary")]
)
def test_a_fold_without_a_divergence_states_the_reason(x, y, why):
    (fold,) = kl_of_folds(x, y, [0, 0, 0])
    assert fold.kl_xy is fold.kl_yx is None
    assert why in fold.why
    assert 0 in {fold.sd_x, fold.sd_y}


def test_a_fold_of_one_pair_has_no_divergence_and_does_not_affect_the_others():
    lone, other = kl_of_folds([1, 2, 3], [2, 4, 5], [0, 1, 1])
    assert (lone.n, lone.kl_xy) == (1, None)
    assert "too few" in lone.why
    assert other.kl_xy == gaussian_kl([2, 3], [4, 5])


def test_pairs_stay_in_the_folds_that_the_caller_assigned():
    x, y, of = [1.0, 2, 5, 6], [2.0, 4, 5, 9], [7, 7, 3, 3]
    assert [(one.fold, one.kl_xy) for one in kl_of_folds(x, y, of)] == [
        (3, gaussian_kl([5, 6], [5, 9])),
        (7, gaussian_kl([1, 2], [2, 4])),
    ]


def test_a_divergence_over_zero_folds_is_refused():
    with pytest.raises(OutOfBounds, match="one fold"):
        kl_by_fold([1, 2], [1, 2], 0, np.random.default_rng(1))
