"""Tests of means over crossed clusters: known errors, and coverage with shared clusters."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from assay.errors import TooFewObservations
from assay.statistics.intervals.crossed import mean_covariance, mean_draws, mean_error


@pytest.fixture
def rng():
    return np.random.default_rng(71)


def crossing(people: int, frames: int) -> dict[str, np.ndarray]:
    """Return the clusters of a design in which every person occurs in every frame."""
    person, frame = np.divmod(np.arange(people * frames), frames)
    return {"person": person, "frame": frame}


def crossed_values(rng, clusters, person_sd: float, frame_sd: float, noise_sd: float) -> np.ndarray:
    """Return values of mean 0 with an effect of each cluster, as one column."""
    sizes = {kind: ids.max() + 1 for kind, ids in clusters.items()}
    effects = rng.normal(0, person_sd, sizes["person"])[clusters["person"]]
    effects = effects + rng.normal(0, frame_sd, sizes["frame"])[clusters["frame"]]
    return (effects + rng.normal(0, noise_sd, len(effects)))[:, None]


# ---------------------------------------------------------------------------- known errors
def test_independent_rows_have_the_textbook_error(rng):
    values = rng.normal(size=(30, 2))
    found = mean_error(values, {})
    assert found.variance == pytest.approx(values.var(axis=0, ddof=1) / 30)
    assert found.freedom == pytest.approx([29, 29])


def test_with_balanced_clusters_the_standard_error_is_that_of_the_mean_of_cluster_means(rng):
    ids = np.repeat(np.arange(12), 8)
    values = (rng.normal(size=12)[ids] + rng.normal(size=96))[:, None]
    means = values.reshape(12, 8).mean(axis=1)
    assert mean_error(values, {"person": ids}).variance == pytest.approx([means.var(ddof=1) / 12])


def test_balanced_crossed_clusters_have_the_standard_error_of_an_analysis_of_variance(rng):
    clusters = crossing(9, 7)
    values = crossed_values(rng, clusters, 1.0, 0.8, 0.5)
    table = values.reshape(9, 7)
    by_person, by_frame = table.mean(axis=1), table.mean(axis=0)
    noise = ((table - by_person[:, None] - by_frame + table.mean()) ** 2).sum() / (8 * 6)
    expected = by_person.var(ddof=1) / 9 + by_frame.var(ddof=1) / 7 - noise / 63
    assert mean_error(values, clusters).variance == pytest.approx([expected])


def test_the_mean_over_twelve_clusters_has_eleven_degrees_of_freedom(rng):
    ids = np.repeat(np.arange(12), 8)
    values = (2 * rng.normal(size=12)[ids] + rng.normal(size=96))[:, None]
    assert mean_error(values, {"person": ids}).freedom == pytest.approx([11], rel=0.01)


def test_two_kinds_of_cluster_have_satterthwaites_degrees_of_freedom(rng):
    clusters = crossing(9, 7)
    values = crossed_values(rng, clusters, 1.5, 1.5, 1.0)
    table = values.reshape(9, 7)
    by_person, by_frame = table.mean(axis=1), table.mean(axis=0)
    noise = ((table - by_person[:, None] - by_frame + table.mean()) ** 2).sum() / (8 * 6) / 63
    squares = by_person.var(ddof=1) / 9, by_frame.var(ddof=1) / 7
    assert min(squares) > 2 * noise
    expected = (sum(squares) - noise) ** 2 / (squares[0] ** 2 / 8 + squares[1] ** 2 / 6 + noise**2 / 62)
    assert mean_error(values, clusters).freedom == pytest.approx([expected])


def test_the_degrees_of_freedom_of_a_variance_component_near_the_noise_follow_the_formula(rng):
    ids = np.repeat(np.arange(6), 40)
    between = np.array([-1.0, -0.6, -0.2, 0.2, 0.6, 1.0])
    within = np.tile(stats.norm.ppf((np.arange(40) + 0.5) / 40), 6)
    noise = within.reshape(6, 40).var(axis=1, ddof=1).mean() / 240
    for scale, small in ((0.24, True), (1.0, False)):
        values = scale * between[ids] + within
        square = (scale * between).var(ddof=1) / 6
        assert bool(noise < square < 2 * noise) is small
        counted = 2 * (square - noise) if small else square
        expected = square**2 / (counted**2 / 5 + noise**2 / 239)
        assert mean_error(values[:, None], {"frame": ids}).freedom == pytest.approx([expected])


def test_clusters_of_one_row_each_are_ignored(rng):
    values = rng.normal(size=(20, 1))
    alone = mean_error(values, {})
    found = mean_error(values, {"each": np.arange(20)})
    assert found.variance == pytest.approx(alone.variance)


def test_the_standard_error_does_not_depend_on_the_numbering_of_the_clusters(rng):
    clusters = crossing(8, 6)
    values = crossed_values(rng, clusters, 1, 1, 1)
    renamed = {"person": 10 * (7 - clusters["person"]), "frame": clusters["frame"] + 3}
    assert mean_error(values, renamed).variance == pytest.approx(mean_error(values, clusters).variance)


def test_constant_values_have_error_zero():
    found = mean_error(np.full((40, 1), 0.25), crossing(8, 5))
    assert found.variance == pytest.approx([0])


@pytest.mark.parametrize(
    ("rows", "clusters", "what"),
    [
        (4, {}, "4 profiles"),
        (40, {"person": np.zeros(40, dtype=int)}, "1 different persons"),
        (40, {"person": np.arange(40) % 3}, "3 different persons"),
    ],
)
def test_too_few_clusters_of_a_kind_are_refused(rows, clusters, what, rng):
    with pytest.raises(TooFewObservations, match=f"{what} are too few; at least 5"):
        mean_error(rng.normal(size=(rows, 1)), clusters)


# ---------------------------------------------------------------------------- coverage
@pytest.mark.parametrize(
    ("person_sd", "frame_sd", "noise_sd"), [(1.0, 0.0, 0.3), (1.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.3, 1.0, 0.5)]
)
def test_intervals_cover_the_mean_for_every_kind_of_cluster(person_sd, frame_sd, noise_sd, rng):
    clusters, held = crossing(14, 10), 0
    for _ in range(400):
        values = crossed_values(rng, clusters, person_sd, frame_sd, noise_sd)
        error = mean_error(values, clusters)
        half = stats.t.ppf(0.975, error.freedom[0]) * np.sqrt(error.variance[0])
        held += abs(values.mean()) <= half
    assert 0.92 <= held / 400 <= 0.985


@pytest.mark.parametrize("ratio", [1, 3, 10])
def test_intervals_have_their_nominal_coverage_with_only_six_frames(ratio, rng):
    person, frame = np.divmod(np.arange(240), 6)
    values = rng.normal(0, np.sqrt(ratio / 40), (6, 4_000))[frame] + rng.normal(size=(240, 4_000))
    error = mean_error(values, {"person": person, "frame": frame})
    held = abs(values.mean(axis=0)) <= stats.t.ppf(0.975, error.freedom) * np.sqrt(error.variance)
    # simulation error is .0035; variance components instead of mean squares would cover .925 to .945
    assert 0.935 <= held.mean() <= 0.965


def test_intervals_that_ignore_clusters_cover_far_too_rarely(rng):
    clusters, held = crossing(14, 10), 0
    for _ in range(200):
        values = crossed_values(rng, clusters, 1.0, 0.0, 0.3)
        held += abs(values.mean()) <= 1.96 * np.sqrt(mean_error(values, {}).variance[0])
    assert held / 200 < 0.6


# ---------------------------------------------------------------------------- draws
def test_draws_have_the_estimated_mean_and_error(rng):
    clusters = crossing(20, 20)
    values = crossed_values(rng, clusters, 1.0, 1.0, 1.0)
    error = mean_error(values, clusters)
    drawn = mean_draws(values, clusters, rng, 6_000)[:, 0]
    # ratio of Student's t standard deviation to the normal one
    inflated = np.sqrt(error.freedom[0] / (error.freedom[0] - 2))
    assert drawn.mean() == pytest.approx(values.mean(), abs=4 * drawn.std() / np.sqrt(6_000))
    assert drawn.std() == pytest.approx(np.sqrt(error.variance[0]) * inflated, rel=0.06)


def test_draws_of_opposite_columns_are_opposite(rng):
    clusters = crossing(8, 8)
    values = crossed_values(rng, clusters, 1, 1, 1)
    drawn = mean_draws(np.hstack([values, -values]), clusters, rng, 300)
    assert drawn[:, 0] == pytest.approx(-drawn[:, 1])


def test_the_same_seed_gives_the_same_draws(rng):
    clusters = crossing(8, 8)
    values = crossed_values(rng, clusters, 1, 1, 1)
    once, again = (mean_draws(values, clusters, np.random.default_rng(5), 700) for _ in range(2))
    assert np.array_equal(once, again)


def test_the_memory_of_drawing_means_does_not_grow_with_the_number_of_draws(rng):
    clusters = crossing(50, 40)
    values = crossed_values(rng, clusters, 1, 1, 1)
    tracemalloc.start()
    mean_draws(values, clusters, rng, 6_000)  # all weights in one array would take 96 MB
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


# ---------------------------------------------------------------------------- covariance without draws
def test_the_covariance_of_independent_rows_equals_the_textbook_formula(rng):
    values = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    found = mean_covariance(values[:, None], {}, mean_error(values, {}))[0]
    student = 39 / 37  # variance of Student's t with 39 degrees of freedom
    assert found == pytest.approx(np.cov(values.T) / 40 * student)


@pytest.mark.parametrize("clusters", [crossing(9, 7), {"person": np.repeat(np.arange(9), 7)}])
def test_the_covariance_computed_without_draws_equals_the_covariance_of_draws(rng, clusters):
    shared = crossed_values(rng, crossing(9, 7), 1.0, 0.8, 0.5)
    values = np.column_stack([shared, shared + rng.normal(size=(63, 1)), rng.normal(size=63)])
    drawn = np.cov(mean_draws(values, clusters, rng, 40_000).T)
    found = mean_covariance(values[:, None], clusters, mean_error(values, clusters))[0]
    sd, drawn_sd = np.sqrt(np.diag(found)), np.sqrt(np.diag(drawn))
    assert sd == pytest.approx(drawn_sd, rel=0.05)
    assert found / np.outer(sd, sd) == pytest.approx(drawn / np.outer(drawn_sd, drawn_sd), abs=0.05)


def test_covariances_of_several_sets_of_columns_equal_those_of_each_set_alone(rng):
    clusters = crossing(9, 7)
    values = rng.normal(size=(63, 4, 3))
    together = mean_covariance(values, clusters, mean_error(values.reshape(63, -1), clusters))
    alone = [mean_covariance(values[:, [one]], clusters, mean_error(values[:, one], clusters))[0] for one in range(4)]
    assert together == pytest.approx(np.stack(alone))


# ---------------------------------------------------------------------------- fewer weights than clusters
def test_draws_computed_with_fewer_random_weights_have_the_same_error_skewness_and_correlation(rng):
    first = rng.lognormal(size=3000)
    values = np.column_stack([first, 0.7 * first + rng.lognormal(size=3000)])
    each, some = (mean_draws(values, {}, rng, 20_000, most) for most in (None, 500))
    assert some.std(axis=0) == pytest.approx(each.std(axis=0), rel=0.03)
    assert some.mean(axis=0) == pytest.approx(each.mean(axis=0), rel=0.01)
    assert stats.skew(some) == pytest.approx(stats.skew(each), abs=0.15)
    assert np.corrcoef(some.T)[0, 1] == pytest.approx(np.corrcoef(each.T)[0, 1], abs=0.1)


@pytest.mark.parametrize(("clusters", "error"), [(5, 1e-3), (80, 1e-4)])
def test_tails_interpolated_in_a_table_agree_with_tails_computed_one_by_one(rng, clusters, error):
    person = np.repeat(np.arange(clusters), 4)
    values = rng.normal(size=(clusters, 1))[person]
    alone, tabled = (
        mean_draws(values, {"person": person}, np.random.default_rng(3), 10_000, most) for most in (None, 80)
    )
    np.testing.assert_allclose(tabled - values.mean(), alone - values.mean(), rtol=error)
    assert not np.array_equal(alone, tabled)
