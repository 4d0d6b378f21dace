"""Posterior of the spreads of connections, on a grid of the residual sigma and the spreads tau, and draws from it.

A *cell* is a protected word with the attribute words of one connection (see `hierarchy`). Its rows are
``y ~ N(beta, sigma)``, its mean is ``beta ~ N(mu, tau)``, and ``mu`` has a normal prior. Both means
have closed forms given ``(sigma, tau)``, so that a density in two dimensions remains (docs/methods/association.md).
Cells with equal numbers of rows enter only through the number of such cells, the mean of their means
and the spread of their means. Cells have few different sizes, so the density is computed once for each size.

Connections that share one sigma are independent given sigma, so their joint density is a row over
sigma and, for each connection, a table of tau given sigma. The axes are logarithmic. They begin wider
than any posterior and are narrowed to the region with mass, so that the same number of points resolves
the flat posterior of four rows and the sharp posterior of a million rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.model import Floats, Integers


@dataclass(frozen=True)
class Priors:
    """Prior distributions of mean cosine distances and of their spreads, for each kind of attribute words."""

    mean: float = 1.0
    """Mean of the normal prior of every connection's ``mu``."""
    sd: float = 0.3
    """Standard deviation of the normal prior of every connection's ``mu``."""
    spread_rate: float = 2.0
    """Rate of the exponential prior of ``tau``; the prior mean is 1 / rate."""
    residual_rate: float = 2.0
    """Rate of the exponential prior of ``sigma``; the prior mean is 1 / rate."""


@dataclass(frozen=True)
class Cells:
    """Summary of distances to one kind of attribute words; a cell is a protected word with its distances to them."""

    words: tuple[str, ...]
    """Protected word of each cell, in alphabetical order."""
    row_counts: Integers
    """Number of rows of each cell, at least 1; shape (cells,)."""
    means: Floats
    """Mean distance of each cell; shape (cells,)."""
    within: float
    """Sum of squared deviations from the cells' own means."""
    sizes: Floats
    """The distinct numbers of rows, ascending; shape (sizes,)."""
    size_of: Integers
    """Index in `sizes` of each cell's number of rows; shape (cells,)."""

    @classmethod
    def of(cls, distance: Floats, words: list[str]) -> Self:
        """Summarise the rows of one kind of attribute words; each row is a distance and its protected word."""
        names = sorted(set(words))
        index_by_name = {name: number for number, name in enumerate(names)}
        cell_of_row = np.fromiter(map(index_by_name.__getitem__, words), dtype=np.int64, count=len(words))
        row_counts = np.bincount(cell_of_row)  # a cell is a protected word with its rows
        means = np.bincount(cell_of_row, weights=distance) / row_counts
        sizes, size_of = np.unique(row_counts, return_inverse=True)  # distinct numbers of rows, and index in them
        within = float(((distance - means[cell_of_row]) ** 2).sum())
        return cls(tuple(names), row_counts, means, within=within, sizes=sizes.astype(float), size_of=size_of)

    @property
    def df(self) -> int:
        """Degrees of freedom of `within`: the number of all rows less that of the cells (protected words)."""
        return int(self.row_counts.sum()) - len(self.words)

    def log_evidence(self, sigma: Floats, tau: Floats, prior: Priors) -> Floats:
        """Compute the log density of the words' mean distances for each residual sd and each spread; shape (s, t).

        With ``v = sigma**2 / n + tau**2`` for a cell of n rows, ``w = 1 / v``, ``W = sum w``, ``m`` the weighted mean
        of the cells' means and ``Q`` the weighted sum of squares around ``m``, the log density is, up to a constant,
        ``-(sum log v + log W + Q) / 2 - (log(s0**2 + 1 / W) + (m - mu0)**2 / (s0**2 + 1 / W)) / 2``.

        Parameters
        ----------
        sigma, tau : ndarray, shapes (s,) and (t,)
            Sd of distances around their word's mean, and sd of the words' means; every combination is computed.
        prior : Priors
            Its `mean` and `sd` are ``mu0`` and ``s0``.
        """
        counts, centre, between = (moment[:, None, None] for moment in self._moments_by_size())  # axes: size, s, t
        v = sigma[None, :, None] ** 2 / self.sizes[:, None, None] + tau**2
        w = counts / v  # 1 / v for each cell, summed over the cells of a size
        total = w.sum(axis=0)
        m = (w * centre).sum(axis=0) / total
        squares = (between / v + w * (centre - m) ** 2).sum(axis=0)
        # with W = `total` and s0 = `prior.sd`: the sum of log W and log(s0^2 + 1 / W) is log1p(s0^2 W)
        prior_misfit = (m - prior.mean) ** 2 / (prior.sd**2 + 1 / total)
        log_determinant = (counts * np.log(v)).sum(axis=0) + np.log1p(prior.sd**2 * total)
        return np.asarray(-0.5 * (log_determinant + squares + prior_misfit), dtype=float)

    def draw_mean(self, sigma: Floats, tau: Floats, prior: Priors, rng: np.random.Generator) -> Floats:
        """Draw ``mu``, the mean of the words' means, for each draw of their sd `tau` and the residual sd `sigma`."""
        counts, centre, _ = (moment[:, None] for moment in self._moments_by_size())  # axes: size, draw
        w = counts / (sigma**2 / self.sizes[:, None] + tau**2)
        precision = w.sum(axis=0) + prior.sd**-2
        mean = ((w * centre).sum(axis=0) + prior.mean * prior.sd**-2) / precision
        return np.asarray(mean + rng.standard_normal(mean.size) / np.sqrt(precision), dtype=float)

    def draw_cells(self, mu: Floats, sigma: Floats, tau: Floats, rng: np.random.Generator) -> Floats:
        """Draw each word's mean distance for each draw of the overall mean `mu` and both sds; shape (cells, draws)."""
        error_variance = sigma**2 / self.sizes[:, None]  # of the mean of a cell, by its number of rows
        shrinkage = tau**2 / (tau**2 + error_variance)
        sd = np.sqrt(shrinkage * error_variance)
        beta = rng.standard_normal((len(self.words), mu.size))
        beta *= sd[self.size_of]
        beta += mu
        beta += shrinkage[self.size_of] * (self.means[:, None] - mu)
        return beta

    def _moments_by_size(self) -> tuple[Floats, Floats, Floats]:
        """Return, by cells' number of rows: how many cells have it, mean of their means, sum of squares around it."""
        counts: Floats = np.bincount(self.size_of).astype(float)
        centre: Floats = np.bincount(self.size_of, weights=self.means) / counts
        between: Floats = np.asarray(np.bincount(self.size_of, weights=(self.means - centre[self.size_of]) ** 2))
        return counts, centre, between


SIGMA_POINTS, TAU_POINTS = 81, 121
"""Number of points of the final axes of sigma and of tau (docs/methods/association.md)."""

NARROWING_POINTS = 41
"""Number of points of an axis during narrowing."""

NEGLIGIBLE = 14.0
"""Points whose log density is this far below the highest are left out: a factor of exp(14), about a million."""

SMALLEST_SPREAD, LARGEST_SPREAD = 1e-4, 4.0
"""Smallest and largest spread considered, in cosine distance; the largest is twice the whole range."""

MAX_NARROWINGS = 8
"""Maximum number of narrowing passes; two or three are usual."""


@dataclass(frozen=True)
class LogAxis:
    """Axis with equal cells on a logarithmic scale, and a point in the middle of each cell."""

    low: float
    """Logarithm of the lower end."""
    high: float
    """Logarithm of the upper end."""
    points: int

    @property
    def step(self) -> float:
        """Width of a cell, as a difference of logarithms."""
        return (self.high - self.low) / self.points

    @property
    def values(self) -> Floats:
        """Values (not logarithms) at the points; shape (points,)."""
        return np.asarray(np.exp(self.low + self.step * (np.arange(self.points) + 0.5)))

    def narrow(self, log_density: Floats) -> "LogAxis":
        """Return an axis of only the cells with more than a negligible density, and one further cell at either end."""
        relevant = np.flatnonzero(log_density > log_density.max() - NEGLIGIBLE)
        first, end = max(int(relevant[0]) - 1, 0), min(int(relevant[-1]) + 2, self.points)  # `end` excluded
        return LogAxis(self.low + self.step * first, self.low + self.step * end, self.points)

    def draw_in(self, cells: Integers, rng: np.random.Generator) -> Floats:
        """Draw a value uniformly within each given cell."""
        return np.exp(self.low + self.step * (cells + rng.random(cells.size)))


@dataclass(frozen=True)
class SpreadGrid:
    """Joint density of two kinds of sds: of distances around a word's mean (sigma), and of those means (tau)."""

    sigma: LogAxis
    taus: tuple[LogAxis, ...]
    """Axis of each connection's tau."""
    log_sigma: Floats
    """Log density of log sigma with every tau integrated out, up to a constant; shape (sigma points,)."""
    log_tau: tuple[Floats, ...]
    """For each connection, log probability of each point of tau given sigma; shape (sigma points, tau points)."""

    @classmethod
    def around(cls, connections: Sequence[Cells], prior: Priors) -> Self:
        """Find the region of the posterior mass and tabulate the density in it.

        Parameters
        ----------
        connections : sequence of Cells
            Summary of each kind of attribute words. All have one residual sd, and the distances of each kind vary.
        """
        widest_tau = LogAxis(math.log(SMALLEST_SPREAD), math.log(LARGEST_SPREAD), NARROWING_POINTS)
        axes = [_widest_sigma(connections), *(widest_tau for _ in connections)]  # of sigma, then of each tau
        for _ in range(MAX_NARROWINGS):
            earlier_axes, axes = axes, cls._tabulate(axes, connections, prior).narrow()
            # no axis was halved, so another pass would hardly narrow them
            if all(axis.step > earlier.step / 2 for axis, earlier in zip(axes, earlier_axes, strict=True)):
                break
        points = [SIGMA_POINTS, *(TAU_POINTS for _ in connections)]
        final_axes = [LogAxis(axis.low, axis.high, count) for axis, count in zip(axes, points, strict=True)]
        return cls._tabulate(final_axes, connections, prior)

    @classmethod
    def _tabulate(cls, axes: Sequence[LogAxis], connections: Sequence[Cells], prior: Priors) -> Self:
        """Compute the density on the `axes`: of the residual sd, then of the words' sd of each of `connections`."""
        sigma_axis, *tau_axes = axes
        sigma = sigma_axis.values
        df, within = sum(cells.df for cells in connections), sum(cells.within for cells in connections)
        # 1 - df instead of -df, and log(tau) below, because the density is over log(sigma) and log(tau) (Jacobians)
        log_sigma_density = (1 - df) * np.log(sigma) - within / (2 * sigma**2) - prior.residual_rate * sigma
        log_tau = []
        for axis, cells in zip(tau_axes, connections, strict=True):
            tau = axis.values
            log_density = cells.log_evidence(sigma, tau, prior) + (np.log(tau) - prior.spread_rate * tau)
            log_integral = _log_sum(log_density) + math.log(axis.step)
            log_sigma_density = log_sigma_density + log_integral
            log_tau.append(log_density - (log_integral - math.log(axis.step))[:, None])  # each row sums to 1
        return cls(sigma_axis, tuple(tau_axes), log_sigma=log_sigma_density, log_tau=tuple(log_tau))

    def narrow(self) -> list[LogAxis]:
        """Return narrower axes: of the residual sd, by its marginal density; of the words' sds, by their maximum."""
        joint_densities = (self.log_sigma[:, None] + log_tau for log_tau in self.log_tau)  # logarithms
        narrowed = (axis.narrow(joint.max(axis=0)) for axis, joint in zip(self.taus, joint_densities, strict=True))
        return [self.sigma.narrow(self.log_sigma), *narrowed]

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Floats, list[Floats]]:
        """Draw the residual sd and, given it, the words' sd for each kind of attribute words; all of shape (draws,)."""
        first_rows = np.zeros(draws, dtype=np.int64)  # the table of sigma has one row
        sigma_indices = _draw_points(self.log_sigma[None, :] - self.log_sigma.max(), first_rows, rng)
        taus = [
            axis.draw_in(_draw_points(log_tau, sigma_indices, rng), rng)
            for axis, log_tau in zip(self.taus, self.log_tau, strict=True)
        ]
        return self.sigma.draw_in(sigma_indices, rng), taus


def _widest_sigma(connections: Sequence[Cells]) -> LogAxis:
    """Return the residual sd's axis to begin with: so wide that the likelihood beyond its ends is negligible."""
    df, within = sum(cells.df for cells in connections), sum(cells.within for cells in connections)
    if df == 0:  # no cell has two rows, so that nothing bounds sigma from below
        return LogAxis(math.log(SMALLEST_SPREAD), math.log(LARGEST_SPREAD), NARROWING_POINTS)
    # with sd**2 = within / df, the likelihood's factor exp(-within / (2 sigma**2)) is at most exp(-800) at this sigma
    least_sigma = math.sqrt(within / df) * min(math.sqrt(df) / 40, 0.05)
    return LogAxis(math.log(least_sigma), math.log(LARGEST_SPREAD), NARROWING_POINTS)


def _log_sum(table: Floats) -> Floats:
    """Logarithm of the sum of ``exp(table)`` over the columns; shape (rows,)."""
    largest = table.max(axis=1)
    return np.asarray(largest + np.log(np.exp(table - largest[:, None]).sum(axis=1)), dtype=float)


def _draw_points(log_weights: Floats, rows: Integers, rng: np.random.Generator) -> Integers:
    """Draw a column for each given row of the table, in proportion to the row's weights; shape of `rows`."""
    cumulative = np.cumsum(np.exp(log_weights), axis=1)
    cumulative /= cumulative[:, -1:]
    # row r is shifted to the range from r to r + 1, so that one search serves all rows
    shifted_cumulative = (cumulative + np.arange(len(cumulative))[:, None]).ravel()
    columns = log_weights.shape[1]
    positions = np.searchsorted(shifted_cumulative, rows + rng.random(rows.size))
    return np.asarray(np.minimum(positions - rows * columns, columns - 1))  # a number near r + 1 may round up to it
