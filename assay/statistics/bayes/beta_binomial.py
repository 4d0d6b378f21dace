"""Beta-binomial hierarchy of the shares of several kinds of trials, on an exact grid.

See docs/methods/stereotype-score.md.

``k_a ~ Bin(n_a, theta_a)``, ``theta_a ~ Beta(m K, (1 - m) K)``, ``m ~ U(0, 1)``, ``rho = 1 / (1 + K) ~ Beta(1, 3)``.
A kind is, for example, an attribute term. The result is m, the mean share over all kinds that could have been asked.
It is less certain if kinds differ by more than their counts explain, which a pooled share ignores. The shares are
integrated out, so that only (m, rho) needs a grid. The grid is narrowed to the region with posterior mass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, TooFewObservations
from assay.model import Floats, Integers, Interval
from assay.statistics.bayes.grid import Grid, Range
from assay.statistics.intervals.credible import interval_of
from assay.statistics.special import special

COARSE, FINE = (31, 31), (81, 61)
"""Numbers of cells of the grid along (m, rho) while it is narrowed, and in the final pass."""

SPREAD_PRIOR = 3
"""Second parameter of rho's prior, Beta(1, 3), under which similar kinds are more probable than different ones."""

NEGLIGIBLE = 1e-6
"""Posterior mass cut off at each end of a margin when the grid is narrowed."""

FIRST_TRIALS, TRIAL_FACTOR = 25, 16
"""Maximum number of trials that the first grid counts, and the factor for each following grid.

A grid finds the region of the posterior mass only if this region is wider than a cell; 16 times the trials make
the region at most four times narrower (see `assay.methods.forced_choice.psychometric_fit`).
"""

ADDED_VARIANCE = 0.5
"""Variance of two additional decisions, one in either direction, that are added to the observed ones."""

LEAST_KINDS = 2
"""Minimum number of kinds: one kind does not show how kinds differ."""

DRAWS = 4000


@dataclass(frozen=True)
class SharesPosterior:
    """Posterior of the share of successes of every kind of trial (such as a term), and of the mean over kinds."""

    overall: Interval
    """m, the mean share over kinds: posterior mean and 95 % interval, from the grid itself."""
    spread: Interval
    """rho, the correlation of two trials of one kind: 0 if all shares are equal, 1 if each is 0 or 1."""
    means: Floats
    """Posterior mean of each kind's share; the fewer its trials, the nearer to the other kinds; shape (kinds,)."""
    _grid: Grid
    _counts: "_Counts"

    def draw_overall(self, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
        """Draw m, the mean share of successes over kinds of trials; shape (draws,)."""
        m, _ = _draw_mean_and_rho(self._grid, rng, draws)
        return m

    def draw_variance(self, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
        """Draw the variance of the shares between kinds, ``m (1 - m) rho`` (`overall`, `spread`); shape (draws,)."""
        m, rho = _draw_mean_and_rho(self._grid, rng, draws)
        return np.asarray(m * (1 - m) * rho)

    def shares(self, rng: np.random.Generator, draws: int = DRAWS, level: float = 0.95) -> tuple[Interval, ...]:
        """Return the share of successes of every kind, with its interval; kinds with equal counts are drawn once."""
        counts = self._counts  # columns of `distinct_counts`: successes, trials
        samples = self._draw_shares(counts.distinct_counts[:, 0], counts.distinct_counts[:, 1], rng, draws)
        intervals = [interval_of(column, level) for column in samples.T]
        return tuple(
            Interval(float(mean), intervals[index].low, intervals[index].high, level)
            for mean, index in zip(self.means, counts.distinct_index, strict=True)
        )

    def _draw_shares(self, successes: Floats, trials: Floats, rng: np.random.Generator, draws: int) -> Floats:
        m, rho = _draw_mean_and_rho(self._grid, rng, draws)
        concentration, m = (1 / rho - 1)[:, None], m[:, None]
        return np.asarray(rng.beta(successes + m * concentration, trials - successes + (1 - m) * concentration))


@dataclass(frozen=True)
class _Counts:
    """Counts of successes and trials of each kind; each distinct pair of counts, and which pair a kind has."""

    successes: Floats
    trials: Floats
    distinct_counts: Floats
    distinct_index: Integers


def _summary(grid: Grid, axis: int) -> Interval:
    """Return the posterior mean and the 95 % interval of the parameter along one axis."""
    low, high = grid.quantiles(axis, [0.025, 0.975])
    return Interval(float(grid.middles(axis) @ grid.margin(axis)), float(low), float(high))


def _draw_mean_and_rho(grid: Grid, rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
    """Draw jointly m, the mean share, and rho, the correlation of two trials of one kind; each of shape (draws,)."""
    cdf = np.cumsum(grid.mass)
    cells = np.searchsorted(cdf, rng.random(draws) * cdf[-1], side="right")
    cells_by_axis = np.unravel_index(np.minimum(cells, cdf.size - 1), grid.mass.shape)  # rounding may reach cdf[-1]
    m, rho = (
        edges[cell] + rng.random(draws) * (edges[cell + 1] - edges[cell])
        for edges, cell in zip(grid.edges, cells_by_axis, strict=True)
    )
    return m, rho


def fit_shares(successes: ArrayLike, failures: ArrayLike, ties: ArrayLike = 0) -> SharesPosterior:
    """Fit a model in which each kind of trial has its own share of successes, and the shares have a mean and a spread.

    Parameters
    ----------
    successes, failures : array_like of int, shape (kinds,)
        Number of successes and of failures of each kind.
    ties : array_like of int, shape (kinds,), optional
        Number of trials of each kind that were neither success nor failure. Each counts as half a success.

    Raises
    ------
    TooFewObservations
        If there are fewer than two kinds, or every trial is a tie.
    OutOfBounds
        If a count is negative or not a whole number, or a kind has no trial.

    Notes
    -----
    With ties, a share is ``P(success) + P(tie) / 2``, as if a fair coin broke each tie. A value of 1/2 varies less
    than values of 0 or 1. Therefore successes and trials are divided by the ratio of the values' variance within kinds
    to the variance of decisions with the same shares (a quasi-likelihood, McCullagh & Nelder 1989, section 9.2). When
    ties counted as decisions, intervals were too wide (.982 of them covered the true share, instead of .95). The ratio
    includes two additional decisions, so that the result is not taken as certain if nearly all trials are ties.
    """
    counts = _scale_counts(successes, failures, ties)
    grid = _fit_grid(counts)
    overall, spread = (_summary(grid, axis) for axis in (0, 1))  # the axes of the grid are m and rho
    return SharesPosterior(overall, spread, _posterior_means(grid, counts), grid, counts)


def _scale_counts(success_column: ArrayLike, failure_column: ArrayLike, tie_column: ArrayLike) -> _Counts:
    """Validate the counts, count a tie as half a success, and scale all counts up, because ties vary less."""
    columns = (success_column, failure_column, tie_column)
    successes, failures, ties = (np.atleast_1d(np.asarray(column, dtype=float)) for column in columns)
    shapes = f"{successes.shape}, {failures.shape}, {ties.shape}"
    if successes.ndim != 1 or successes.shape != failures.shape or ties.shape not in {successes.shape, (1,)}:
        raise OutOfBounds(f"successes, failures, ties need the same shape, not {shapes}")
    ties = np.broadcast_to(ties, successes.shape)
    table = np.stack([successes, failures, ties])
    if not np.isfinite(table).all() or (table < 0).any() or (table != np.floor(table)).any():
        raise OutOfBounds("successes, failures and ties must be whole numbers from 0 up")
    if len(successes) < LEAST_KINDS:
        raise TooFewObservations(f"how kinds differ needs {LEAST_KINDS} of them at least, not {len(successes)}")
    trials = table.sum(axis=0)
    if (trials == 0).any():  # `argmin` is then the first kind without a trial
        raise OutOfBounds(f"every number of trials must be at least 1; trials[{int(np.argmin(trials))}] is 0")
    if not (successes + failures).any():
        raise TooFewObservations(f"all {int(trials.sum())} trials are ties: nothing was decided")
    votes = successes + ties / 2
    scaled_counts = np.stack([votes, trials], axis=1) / _relative_variance(votes, trials, ties)
    distinct_counts, distinct_index = np.unique(scaled_counts, axis=0, return_inverse=True)
    return _Counts(scaled_counts[:, 0], scaled_counts[:, 1], distinct_counts, distinct_index.ravel())


def _relative_variance(votes: Floats, trials: Floats, tie_counts: Floats) -> float:
    """Return the variance of trials within kinds (a tie is 1/2), divided by what it would be without ties."""
    decision_variance = float((votes * (1 - votes / trials)).sum()) + ADDED_VARIANCE
    return (decision_variance - float(tie_counts.sum()) / 4) / decision_variance  # a tie's square is 1/4, not 1/2


def _fit_grid(counts: _Counts) -> Grid:
    """Compute the posterior on a fine grid; coarse grids, which count ever more of the trials, narrow its region."""
    ranges: Sequence[Range] = ((0.0, 1.0), (0.0, 1.0))
    counted_trials, trials = 0.0, float(counts.trials.sum())
    while counted_trials < trials:
        counted_trials = min(trials, counted_trials * TRIAL_FACTOR or FIRST_TRIALS)  # 0 before the first grid
        narrower = True
        # one narrowing is not enough: if the kinds are alike, rho is of order 1 / trials, not 1 / sqrt(trials)
        while narrower:
            previous_ranges = ranges
            ranges = _posterior_grid(counts, ranges, COARSE, share=counted_trials / trials).narrow(NEGLIGIBLE)
            narrower = bool((2 * np.diff(ranges) < np.diff(previous_ranges)).any())  # some range fell below half
    return _posterior_grid(counts, ranges, FINE)


def _posterior_grid(counts: _Counts, ranges: Sequence[Range], cells: tuple[int, int], share: float = 1.0) -> Grid:
    """Compute the posterior mass of each cell (m, rho) at its middle; with a `share` of 1/2, 2 trials count as 1."""
    grid = Grid.over(ranges, cells)
    m, rho = grid.middles(0)[:, None], grid.middles(1)[None, :]
    concentration = 1 / rho - 1  # K
    totals = (counts.successes, counts.trials - counts.successes, counts.trials)
    # the distinct totals, each with the number of kinds that have it
    successes, failures, trials = (np.unique(total, return_counts=True) for total in totals)
    log_mass = _log_rising(m * concentration, *successes) + _log_rising((1 - m) * concentration, *failures)
    log_mass = log_mass - _log_rising(concentration, *trials)
    return grid.with_mass(share * log_mass + (SPREAD_PRIOR - 1) * np.log1p(-rho))  # rho's prior, Beta(1, 3)


def _log_rising(start: Floats, steps: Floats, times: Integers) -> Floats:
    """Sum ``log Gamma(start + step) - log Gamma(start)`` over `steps`; `times`: how often each of them occurs."""
    log_sum = -special.gammaln(start) * times.sum()
    for step, count in zip(steps, times, strict=True):
        log_sum = log_sum + count * special.gammaln(start + step)
    return np.asarray(log_sum)


def _posterior_means(grid: Grid, counts: _Counts) -> Floats:
    """Return each kind's posterior mean share: ``(successes + m K) / (trials + K)`` on average; K: 1 / rho - 1."""
    concentration = 1 / grid.middles(1) - 1  # K
    rho_mass, m_mass = grid.margin(1), grid.middles(0) @ grid.mass  # for each rho, sums over m: of mass, of m * mass
    successes, trials = counts.distinct_counts.T[:, :, None]
    means = ((successes * rho_mass + concentration * m_mass) / (trials + concentration)).sum(axis=1)
    return np.asarray(means[counts.distinct_index])
