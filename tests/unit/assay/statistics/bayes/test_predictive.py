"""Tests of the predictive check and the before/after comparison."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.document import as_json
from assay.errors import TooFewObservations
from assay.methods.association.comparison import compare
from assay.methods.association.predictive_check import predictive_check
from assay.statistics.bayes.hierarchy import fit_hierarchy

CONNECTIONS = ("associated", "different", "human", "neutral")


def make_table(rng, means=(0.8, 0.9, 0.9, 0.95), words=6, each=25, noise="normal", only=CONNECTIONS):
    """Draw rows for every connection; the noise has sd .1 whatever its shape."""
    columns = ([], [], [])
    for connection, mu in zip(only, means, strict=False):
        for word in range(words):
            centre = rng.normal(mu, 0.03)
            e = rng.standard_normal(each) if noise == "normal" else rng.choice([-1.0, 1.0], each)
            columns[0].extend(centre + 0.1 * e + 1e-4 * rng.standard_normal(each))
            columns[1].extend([connection] * each)
            columns[2].extend([f"w{word}"] * each)
    return columns


def fitted(rows, seed=1, draws=2000):
    return fit_hierarchy(*rows, np.random.default_rng(seed), draws=draws)


def test_data_of_the_model_lie_in_its_predictive_intervals_at_the_nominal_rate():
    rows = make_table(np.random.default_rng(1), each=100)
    check = predictive_check(fitted(rows), *rows)
    assert check.share_50 == pytest.approx(0.5, abs=0.04)
    assert check.share_89 == pytest.approx(0.89, abs=0.03)
    assert [one.connection for one in check.connections] == list(CONNECTIONS)
    assert sum(one.rows for one in check.connections) == len(rows[0])


def test_the_predictive_check_detects_bimodal_data():
    rows = make_table(np.random.default_rng(2), noise="two humps")
    check = predictive_check(fitted(rows), *rows)
    # all data lie one standard deviation from the centre: outside the 50 % interval, inside the 89 % interval
    assert check.share_50 < 0.1
    assert check.share_89 > 0.98
    human = check.connections[2]
    centre = np.argmin(np.abs(np.array(check.grid) - 0.9))
    assert human.observed[centre] < 0.5 * human.predicted[centre]


def test_the_predictive_check_compares_each_word_with_its_own_prediction():
    """With two distant words a pooled prediction would lie between them, where there is no data."""
    rng = np.random.default_rng(3)
    distance = np.concatenate([rng.normal(0.4, 0.02, 200), rng.normal(1.2, 0.02, 200)])
    rows = (distance, ["human"] * 400, np.repeat(["near", "far"], 200))
    check = predictive_check(fitted(rows), *rows)
    assert check.share_50 == pytest.approx(0.5, abs=0.08)
    only = check.connections[0]
    middle = np.argmin(np.abs(np.array(check.grid) - 0.8))
    assert only.predicted[middle] < 1e-3 * max(only.predicted)


def test_observed_and_predicted_densities_integrate_to_one_and_agree_where_the_model_holds():
    rows = make_table(np.random.default_rng(4), each=400)
    check = predictive_check(fitted(rows), *rows)
    for one in check.connections:
        for density in (one.observed, one.predicted):
            assert np.trapezoid(density, check.grid) == pytest.approx(1.0, abs=0.01)
        assert np.trapezoid(np.abs(np.subtract(one.observed, one.predicted)), check.grid) < 0.12


def test_the_predictive_check_detects_distances_that_the_model_was_not_fitted_to():
    rng = np.random.default_rng(5)
    rows = make_table(rng)
    moved = (np.array(rows[0]) - 0.3, rows[1], rows[2])
    assert predictive_check(fitted(rows), *moved).share_89 < 0.15


def test_a_word_or_a_kind_of_word_pair_that_was_not_fitted_cannot_be_checked():
    posterior = fitted(make_table(np.random.default_rng(6), only=("human",)))
    with pytest.raises(TooFewObservations, match="associated"):
        predictive_check(posterior, [0.9], ["associated"], ["w0"])
    with pytest.raises(TooFewObservations, match="stranger"):
        predictive_check(posterior, [0.9], ["human"], ["stranger"])
    with pytest.raises(TooFewObservations):
        predictive_check(posterior, [], [], [])


def test_the_same_predictive_check_twice_gives_the_same_json():
    rows = make_table(np.random.default_rng(7))
    posterior = fitted(rows)
    first, second = (json.dumps(as_json(predictive_check(posterior, *rows)), allow_nan=False) for _ in range(2))
    assert first == second


def test_comparing_posteriors_before_and_after_debiasing_recovers_the_simulated_change():
    rng = np.random.default_rng(8)
    before = fitted(make_table(rng, means=(0.7, 0.9, 0.9, 0.95)), seed=1)
    after = fitted(make_table(rng, means=(0.9, 0.9, 0.9, 0.95)), seed=2)
    compared = compare(before, after)
    moved, *still = compared.connections
    assert moved.name == "associated"
    assert moved.mean == pytest.approx(0.2, abs=0.06)
    assert moved.p_after_greater > 0.99
    assert all(one.hpdi.low < 0.05 and one.hpdi.high > -0.05 for one in still)
    assert compared.effect.mean == pytest.approx(-0.2, abs=0.08)
    assert compared.effect.p_after_greater < 0.01
    assert [one.name for one in compared.words] == [f"w{word}" for word in range(6)]


def test_swapping_before_and_after_changes_every_sign():
    rng = np.random.default_rng(9)
    one, other = fitted(make_table(rng), seed=1, draws=20_000), fitted(make_table(rng), seed=2, draws=20_000)
    forth, back = compare(one, other), compare(other, one)
    for there, here in zip((*forth.connections, forth.effect), (*back.connections, back.effect), strict=True):
        assert there.mean == pytest.approx(-here.mean, abs=1e-12)
        assert [there.hpdi.low, there.hpdi.high] == pytest.approx([-here.hpdi.high, -here.hpdi.low], abs=0.01)
        assert there.p_after_greater == pytest.approx(1 - here.p_after_greater, abs=0.02)


def test_two_fits_with_the_same_seed_are_compared_as_independent():
    """Both fits use the same random numbers; a difference of paired draws would have width 0."""
    rows = make_table(np.random.default_rng(10))
    same_seed = compare(fitted(rows, seed=3), fitted(rows, seed=3))
    other_seed = compare(fitted(rows, seed=3), fitted(rows, seed=4))
    for one, other in zip(same_seed.connections, other_seed.connections, strict=True):
        width, expected = (each.hpdi.high - each.hpdi.low for each in (one, other))
        assert width == pytest.approx(expected, rel=0.15)


def test_comparing_posteriors_without_stereotype_distances_gives_no_effect():
    rng = np.random.default_rng(11)
    one, other = (fitted(make_table(rng, only=("human", "neutral")), seed=seed) for seed in (1, 2))
    compared = compare(one, other)
    assert [each.name for each in compared.connections] == ["human", "neutral"]
    assert compared.effect is None
    assert compared.words == ()


def test_a_comparison_of_posteriors_without_a_common_kind_of_word_pair_is_refused():
    rng = np.random.default_rng(12)
    one, other = (fitted(make_table(rng, only=(name,))) for name in ("human", "neutral"))
    with pytest.raises(TooFewObservations, match="human before, and to neutral after"):
        compare(one, other)


def test_posteriors_with_different_numbers_of_draws_are_compared_over_the_smaller_number():
    rows = make_table(np.random.default_rng(13))
    compared = compare(fitted(rows, draws=500), fitted(rows, draws=2000))
    assert compared.connections[0].mean == pytest.approx(0, abs=0.02)
