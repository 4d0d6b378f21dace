"""Grid of the residual sigma and the spreads tau, narrowed to the posterior mass, and draws from this grid.

Connections that share one sigma are independent given sigma, so their joint density is a row over
sigma and, for each connection, a table of tau given sigma. The axes are logarithmic. They begin wider
than any posterior and are narrowed to the region with mass, so that the same number of points resolves
the flat posterior of four rows and the sharp posterior of a million rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.model import Floats, Integers
from assay.statistics.bayes.cell_integrals import Cells, Priors

SIGMA_POINTS, TAU_POINTS = 81, 121
"""Points of the final axes (docs/methods/association.md)."""

LOOK_POINTS = 41
"""Points of an axis during narrowing."""

NEGLIGIBLE = 14.0
"""Difference in log density from the highest at which points are left out: a factor of exp(14), about a million."""

LEAST, MOST = 1e-4, 4.0
"""Smallest and largest spread considered, in cosine distance; the largest is twice the whole range."""

MOST_LOOKS = 8
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
        """Values of the points; shape (points,)."""
        return np.asarray(np.exp(self.low + self.step * (np.arange(self.points) + 0.5)))

    def narrowed(self, log_density: Floats) -> LogAxis:
        """Return an axis over the cells with more than a negligible density, and one more cell on either side."""
        relevant = np.flatnonzero(log_density > log_density.max() - NEGLIGIBLE)
        first, last = max(int(relevant[0]) - 1, 0), min(int(relevant[-1]) + 2, self.points)
        return LogAxis(self.low + self.step * first, self.low + self.step * last, self.points)

    def within(self, cells: Integers, rng: np.random.Generator) -> Floats:
        """Draw a value uniformly within each given cell."""
        return np.exp(self.low + self.step * (cells + rng.random(cells.size)))


@dataclass(frozen=True)
class SpreadGrid:
    """Density of sigma, and of each connection's tau given sigma."""

    sigma: LogAxis
    taus: tuple[LogAxis, ...]
    """Points of each connection's tau."""
    log_sigma: Floats
    """Log density of log sigma with every tau integrated out, up to a constant; shape (sigma points,)."""
    log_tau: tuple[Floats, ...]
    """Log probability of each point of tau given sigma; shape (sigma points, tau points)."""

    @classmethod
    def around(cls, cells: Sequence[Cells], prior: Priors) -> SpreadGrid:
        """Find the region of the posterior mass and tabulate the density in it.

        Parameters
        ----------
        cells : sequence of Cells
            Connections that share one sigma; there is some variance in every one.
        """
        sigma, taus = _widest_sigma(cells), (LogAxis(math.log(LEAST), math.log(MOST), LOOK_POINTS),) * len(cells)
        for _ in range(MOST_LOOKS):
            before = (sigma, *taus)
            sigma, *narrowed_taus = cls._tabulated(sigma, taus, cells, prior).narrowed()
            taus = tuple(narrowed_taus)
            if all(new.step > old.step / 2 for new, old in zip((sigma, *taus), before, strict=True)):
                break
        sigma = LogAxis(sigma.low, sigma.high, SIGMA_POINTS)
        taus = tuple(LogAxis(axis.low, axis.high, TAU_POINTS) for axis in taus)
        return cls._tabulated(sigma, taus, cells, prior)

    @classmethod
    def _tabulated(cls, sigma: LogAxis, taus: tuple[LogAxis, ...], cells: Sequence[Cells], prior: Priors) -> SpreadGrid:
        at = sigma.values
        df, within = sum(cell.df for cell in cells), sum(cell.within for cell in cells)
        # 1 - df instead of -df, because the density is over log(sigma) (Jacobian sigma)
        log_sigma = (1 - df) * np.log(at) - within / (2 * at**2) - prior.residual_rate * at
        log_tau = []
        for axis, cell in zip(taus, cells, strict=True):
            tau = axis.values
            table = cell.log_evidence(at, tau, prior) + (np.log(tau) - prior.spread_rate * tau)
            total = _log_sum(table) + math.log(axis.step)
            log_sigma = log_sigma + total
            log_tau.append(table - (total - math.log(axis.step))[:, None])
        return cls(sigma, taus, log_sigma, tuple(log_tau))

    def narrowed(self) -> list[LogAxis]:
        """Return the narrowed axes: sigma's by its marginal density, each tau's by its largest density over sigma."""
        taus = (
            axis.narrowed((self.log_sigma[:, None] + table).max(axis=0))
            for axis, table in zip(self.taus, self.log_tau, strict=True)
        )
        return [self.sigma.narrowed(self.log_sigma), *taus]

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Floats, list[Floats]]:
        """Draw sigma, and each connection's tau given sigma; all of shape (draws,)."""
        first = np.zeros(draws, dtype=np.int64)
        at = _draw_points(self.log_sigma[None, :] - self.log_sigma.max(), first, rng)
        taus = [
            axis.within(_draw_points(table, at, rng), rng) for axis, table in zip(self.taus, self.log_tau, strict=True)
        ]
        return self.sigma.within(at, rng), taus


def _widest_sigma(cells: Sequence[Cells]) -> LogAxis:
    """Return a generous range of sigma, outside which the likelihood is negligible."""
    df, within = sum(cell.df for cell in cells), sum(cell.within for cell in cells)
    if df == 0:
        return LogAxis(math.log(LEAST), math.log(MOST), LOOK_POINTS)
    # below sd * sqrt(df) / 40 the likelihood has a factor of exp(-800), which is negligible
    least = math.sqrt(within / df) * min(math.sqrt(df) / 40, 0.05)
    return LogAxis(math.log(least), math.log(MOST), LOOK_POINTS)


def _log_sum(table: Floats) -> Floats:
    """Log-sum-exp of a table over its columns; shape (rows,)."""
    largest = table.max(axis=1)
    return np.asarray(largest + np.log(np.exp(table - largest[:, None]).sum(axis=1)), dtype=float)


def _draw_points(log_weights: Floats, row: Integers, rng: np.random.Generator) -> Integers:
    """Draw a column for each given row of the table, in proportion to the row's weights; shape of `row`."""
    running = np.cumsum(np.exp(log_weights), axis=1)
    running /= running[:, -1:]
    # row r is shifted to the range from r to r + 1, so that one search serves all rows
    flat = (running + np.arange(len(running))[:, None]).ravel()
    columns = log_weights.shape[1]
    return np.asarray(np.minimum(np.searchsorted(flat, row + rng.random(row.size)) - row * columns, columns - 1))
