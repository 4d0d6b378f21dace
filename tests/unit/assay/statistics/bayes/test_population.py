"""Tests of a population of points with measurement errors: its spread excludes the errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm, skewnorm

from assay.errors import TooFewObservations
from assay.statistics.bayes.population import Margin, draw_population


def margin(mean, sd, shape=norm, cells=36):
    edges = mean + sd * np.linspace(-5, 5, cells + 1)
    mass = np.diff(shape.cdf((edges - mean) / sd))
    return Margin(edges, mass / mass.sum())


def test_points_without_measurement_error_give_the_textbook_posterior_of_mean_and_spread():
    """Under flat priors of the mean and the sd, (n - 1) s^2 / sd^2 has n - 2 degrees of freedom."""
    rng = np.random.default_rng(1)
    points = rng.normal(0.4, 0.1, 25)
    found = draw_population([margin(at, 1e-4) for at in points], rng, 20_000)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    expected = np.sqrt(24 * points.var(ddof=1) / chi2.ppf(1 - np.array(levels), 23))
    assert np.quantile(found.sd, levels) == pytest.approx(expected, rel=0.02)
    assert found.mean.mean() == pytest.approx(points.mean(), abs=0.002)
    assert found.mean.std() == pytest.approx(points.std(ddof=1) / 5 * np.sqrt(24 / 21), rel=0.05)


@pytest.mark.parametrize("sd", [0.0, 0.05, 0.2])
def test_measurement_error_does_not_count_as_spread(sd):
    rng = np.random.default_rng(2)
    points = rng.normal(0.5, sd, 400) + rng.normal(0, 0.1, 400)
    found = draw_population([margin(at, 0.1) for at in points], rng, 2000)
    assert found.sd.mean() == pytest.approx(sd, abs=0.03)
    assert abs(found.mean.mean() - 0.5) < 4 * found.mean.std()


@pytest.mark.slow
def test_skewed_posteriors_of_points_do_not_widen_the_estimated_spread():
    """The posterior of a distant point is skewed outwards, so that its mean lies too far out."""
    rng = np.random.default_rng(3)
    truth = rng.normal(0, 0.1, 300)
    skew = skewnorm(6)
    outwards, points = np.sign(truth), []
    for side, at in zip(outwards, truth, strict=True):
        cells = margin(0.0, 0.08, skew)
        moved = cells.edges - 0.08 * skew.rvs(random_state=rng) + side * at
        points.append(Margin(moved, cells.mass) if side > 0 else Margin(-moved[::-1], cells.mass[::-1]))
    found = draw_population(points, rng, 2000)
    assert found.sd.mean() == pytest.approx(0.1, abs=0.015)


def test_mirroring_all_points_mirrors_the_estimated_mean_and_keeps_the_spread():
    points = [margin(at, 0.05) for at in (0.1, 0.3, 0.35, 0.6)]
    mirrored = [Margin(1 - one.edges[::-1], one.mass[::-1]) for one in points]
    here, there = (draw_population(one, np.random.default_rng(4), 20_000) for one in (points, mirrored))
    assert there.mean.mean() == pytest.approx(1 - here.mean.mean(), abs=0.01)
    assert np.quantile(there.sd, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(here.sd, [0.1, 0.5, 0.9]), rel=0.05)


def test_every_draw_is_finite_for_equal_and_for_distant_points():
    for points in ([margin(0.5, 0.1)] * 3, [margin(at, 0.001) for at in (0.0, 0.5, 100.0)]):
        found = draw_population(points, np.random.default_rng(5), 500)
        assert np.isfinite(found.mean).all()
        assert np.isfinite(found.sd).all()
        assert found.sd.min() >= 0


def test_two_points_are_too_few_for_a_spread():
    with pytest.raises(TooFewObservations, match="2 points"):
        draw_population([margin(0.4, 0.1), margin(0.6, 0.1)], np.random.default_rng(6), 10)
