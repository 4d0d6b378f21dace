"""Psychometric curve fitted to observed choices: posterior on a grid that is narrowed to where its mass is.

``P(second | a) = l / 2 + (1 - l) Phi((a - mu) / sigma)``: mu is the point of subjective equality, sigma
the steepness and l the lapse rate, the share of answers that ignore the stimulus (docs/methods/forced-choice.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import NoTransition, OutOfBounds, TooFewObservations
from assay.model import Floats, Interval
from assay.statistics.bayes.grid import Grid, Range
from assay.statistics.bayes.population import Margin
from assay.statistics.embeddings.two_afc import JND_75

COARSE, FINE = (31, 31, 9), (61, 41, 17)
"""Numbers of grid cells (mu, log sigma, root of the lapse rate): while the grid is narrowed, and for the result."""

LAPSES_PRIOR = 20
"""The prior of the lapse rate is Beta(1, 20): mostly below .14."""

MOST_LAPSES = 0.5
"""Largest lapse rate (share of answers that ignore the stimulus) on the grid."""

LEVELS_AT_ONCE = 64
"""Number of levels whose likelihood is computed for all grid cells at once, which limits the memory."""

STEEP = 0.025
"""Quantile of log sigma at which a curve counts as being as steep as its choices allow."""

SIGMAS = 200
"""Number of values of log sigma of which `shared_steepness` is one."""

FLAT = 10
"""Minimum width of the posterior of a point of equality whose place between two levels is unknown, in sigmas."""

NEGLIGIBLE = 1e-5
"""Probability that is cut off at each end of a marginal posterior when the grid is narrowed."""

LIMITS = ((0.025, 0.975), (0.025, 0.5, 0.975), (0.025, 0.975))
"""Quantiles that are reported for mu, log sigma and the root of the lapse rate."""

FIRST_TRIALS, TRIAL_FACTOR = 25, 16
"""Number of trials with which the first grid is computed, and the factor by which it grows for each next grid.

A grid finds a posterior only if the posterior is wider than a cell. So the widest grid counts each answer as only
part of an answer. 16 times as many answers make the posterior four times narrower.
"""


@dataclass(frozen=True)
class PsychometricFit:
    """Posterior of a psychometric curve; all but the lapse rate are in units of the level (share of the second cue)."""

    pse: Interval
    """Level at which both answers are equally likely: posterior mean and 95 % interval."""
    sigma: Interval
    """Standard deviation of the cumulative normal: posterior median and 95 % interval."""
    jnd_75: Interval
    """Distance from the 50 % to the 75 % point of the normal curve (without lapses), .6745 sigma; with its interval."""
    lapse: Interval
    """Share of answers that ignore the stimulus: posterior mean and 95 % interval."""
    _grid: Grid

    @property
    def point(self) -> Margin:
        """Marginal posterior of the point of subjective equality."""
        return Margin(self._grid.edges[0], self._grid.margin(0))

    def log_sigma_range(self) -> Range:
        """Return the lowest and the highest log sigma with more than a negligible posterior."""
        return float(self._grid.edges[1][0]), float(self._grid.edges[1][-1])

    def log_likelihood_of_sigma(self, log_sigma: Floats) -> Floats:
        """Return the log-likelihood of values of log sigma, up to a constant; other parameters are integrated out."""
        density = np.maximum(self._grid.margin(1), NEGLIGIBLE) / np.diff(self._grid.edges[1])
        negligible = math.log(NEGLIGIBLE)  # outside the grid
        return np.interp(log_sigma, self._grid.middles(1), np.log(density), left=negligible, right=negligible)

    def points_at_ends(self, log_sigma: float) -> tuple[Margin, Margin]:
        """Return the point of equality in the lowest and in the highest tenth of where a curve this steep can change.

        If that is a small part of the distance between two levels, both results are `point`.
        """
        sigma_index = int(np.abs(self._grid.middles(1) - log_sigma).argmin())
        mass, edges = self._grid.mass[:, sigma_index].sum(axis=1), self._grid.edges[0]
        cumulative = np.cumsum(mass) / mass.sum()
        low, high = np.interp([0.025, 0.975], cumulative, edges[1:])
        if math.exp(log_sigma) > (high - low) / FLAT:
            return self.point, self.point
        low_end, high_end = (np.where(end, mass, 0.0) for end in (cumulative <= cumulative[0] + 0.1, cumulative >= 0.9))
        return Margin(edges, low_end / low_end.sum()), Margin(edges, high_end / high_end.sum())


def shared_steepness(fits: Sequence[PsychometricFit]) -> float:
    """Return a lower limit (2.5 % quantile) of log sigma, given the choices of one observer about all words.

    All words share sigma here, so that words without mixed answers at any level, by chance, do not make it small.
    """
    limits = [fit.log_sigma_range() for fit in fits]
    log_sigma = np.linspace(min(low for low, _ in limits), max(high for _, high in limits), SIGMAS)
    log_mass = np.sum([fit.log_likelihood_of_sigma(log_sigma) for fit in fits], axis=0)
    cumulative = np.cumsum(np.exp(log_mass - log_mass.max()))
    return float(log_sigma[np.searchsorted(cumulative / cumulative[-1], STEEP)])


def fit_psychometric(level: ArrayLike, chose_second: ArrayLike, trials: ArrayLike) -> PsychometricFit:
    """Fit a psychometric curve to counts of choices.

    Priors are flat in the point of equality (from one range of the levels below them to one above) and in log sigma
    (sigma: from 1/200 of the range to five ranges), and Beta(1, 20) in the lapse rate.

    Parameters
    ----------
    level : array_like, shape (n,)
        Share of the second cue in the stimulus.
    chose_second, trials : array_like, shape (n,)
        Number of trials at that level that chose the second cue; number of all trials at that level.

    Raises
    ------
    TooFewObservations
        If fewer than two distinct levels were shown.
    NoTransition
        If every answer chooses the same cue, so that no finite point of equality exists.
    OutOfBounds
        If counts are negative or above the number of trials, or if lengths differ.

    References
    ----------
    .. [1] "Artificial mental phenomena" (FAT* 2020), Psychophysics and the 2AFC task.
    .. [2] Kuss, Jaekel & Wichmann (2005), "Bayesian inference for psychometric functions", J. Vision 5.
    """
    levels, choices, totals = _count_levels(level, chose_second, trials)
    grid = _fit_grid(levels, choices, totals)
    # axes of the grid: point of equality, logarithm of sigma, square root of the lapse rate
    (low, high), log_sigmas, lapse_roots = (grid.quantiles(axis, limits) for axis, limits in enumerate(LIMITS))
    pse = float(grid.middles(0) @ grid.margin(0))
    lapse = float(grid.middles(2) ** 2 @ grid.margin(2))
    sigma_low, sigma_median, sigma_high = (float(np.exp(log_sigma)) for log_sigma in log_sigmas)
    sigma = Interval(sigma_median, sigma_low, sigma_high)
    return PsychometricFit(
        pse=Interval(pse, float(low), float(high)),
        sigma=sigma,
        jnd_75=Interval(JND_75 * sigma.estimate, JND_75 * sigma.low, JND_75 * sigma.high),
        lapse=Interval(lapse, *(float(root**2) for root in lapse_roots)),
        _grid=grid,
    )


def _count_levels(level: ArrayLike, chose_second: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Validate the columns; return the distinct levels, and by level the choices of the second cue and the trials."""
    levels, choices, totals = (np.asarray(column, dtype=float) for column in (level, chose_second, trials))
    if not levels.shape == choices.shape == totals.shape or levels.ndim != 1:
        raise OutOfBounds("levels, choices and trials must be equally many", "trials")
    if not (np.isfinite(levels).all() and ((choices >= 0) & (choices <= totals)).all()):
        raise OutOfBounds("levels must be finite, and choices from 0 to the trials of their level", "trials")
    has_trials = totals > 0
    distinct_levels, level_index = np.unique(levels[has_trials], return_inverse=True)
    if len(distinct_levels) < 2:
        raise TooFewObservations(f"{len(distinct_levels)} levels were shown; a curve needs two at least")
    choices, totals = (np.asarray(np.bincount(level_index, n[has_trials]), dtype=float) for n in (choices, totals))
    if choices.sum() in {0, totals.sum()}:
        side = "second" if choices.sum() else "first"
        raise NoTransition(f"all {int(totals.sum())} answers chose the {side} cue, so that no finite point exists")
    return distinct_levels, choices, totals


def _fit_grid(levels: Floats, choices: Floats, totals: Floats) -> Grid:
    """Return the posterior on a fine grid, over ranges that coarser grids first narrow, each using more answers."""
    low, high = float(levels[0]), float(levels[-1])
    span = high - low
    ranges: Sequence[Range] = (
        (low - span, high + span),  # of the point of equality
        (math.log(span / 200), math.log(5 * span)),  # of the logarithm of sigma
        (0.0, math.sqrt(MOST_LAPSES)),  # of the square root of the lapse rate
    )
    n_used, n_total = 0.0, float(totals.sum())
    while n_used < n_total:
        n_used = min(n_total, n_used * TRIAL_FACTOR or FIRST_TRIALS)  # 0 before the first grid
        coarse_grid = _weigh_grid(levels, choices, totals - choices, ranges, COARSE, share=n_used / n_total)
        ranges = coarse_grid.narrow(NEGLIGIBLE)
    return _weigh_grid(levels, choices, totals - choices, ranges, FINE)


def _weigh_grid(
    levels: Floats,
    second_counts: Floats,
    first_counts: Floats,
    ranges: Sequence[Range],
    cell_counts: tuple[int, int, int],
    share: float = 1.0,
) -> Grid:
    """Compute the posterior mass of each grid cell at its middle; each answer has the weight `share` (0 to 1)."""
    from scipy.special import ndtr

    grid = Grid.over(ranges, cell_counts)
    mu, sigma, lapse = grid.middles(0), np.exp(grid.middles(1)), grid.middles(2) ** 2
    for start in range(0, len(levels), LEVELS_AT_ONCE):
        block = slice(start, start + LEVELS_AT_ONCE)
        z = (levels[block] - mu[:, None, None]) / sigma[:, None]  # shape (mu, sigma, levels)
        p_second, p_first = ndtr(z), ndtr(-z)
        for index, rate in enumerate(lapse):  # every lapse rate is above 0, so both logarithms are finite
            log_second, log_first = (np.log(rate / 2 + (1 - rate) * p) for p in (p_second, p_first))
            grid.mass[:, :, index] += log_second @ second_counts[block] + log_first @ first_counts[block]
    # the axis is the root of the lapse rate, which is finer near 0, where lapse rates mostly lie; the density on this
    # axis is the prior's density times twice the root
    return grid.with_mass(share * grid.mass + (LAPSES_PRIOR - 1) * np.log1p(-lapse) + np.log(grid.middles(2)))
