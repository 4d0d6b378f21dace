"""Mean and spread of a population of points (numbers), each of which was measured with its own error.

Each point has a posterior under a flat prior, which is its likelihood up to a factor. The population is
normal, ``point ~ N(mean, sd)``; the points themselves are integrated out, so that the uncertainty of each counts
once, whatever its shape. A wide or skewed posterior does not count as spread between points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.errors import TooFewObservations
from assay.model import Floats
from assay.statistics.bayes.grid import Grid, Range
from assay.statistics.special import special

CELLS = 18
"""Number of cells of the grid along either axis."""

MOST_PASSES, NARROWER = 8, 0.7
"""Maximum number of narrowing passes, and the share of its length to which an axis must shrink for another pass."""

NEGLIGIBLE = 1e-5
"""Mass cut off either end of an axis when the grid is narrowed."""

ERRORS = 7.0
"""Extent of the first grid on either side of the arithmetic mean, in standard errors."""

POINTS_AT_ONCE = 64
"""Number of points compared with all cells at once; bounds the memory for uploads with many words."""


@dataclass(frozen=True)
class Margin:
    """Posterior of a point (a measured number) under a flat prior: masses of cells of equal width; their sum is 1."""

    edges: Floats
    mass: Floats

    @property
    def mean(self) -> float:
        """Posterior mean of the point."""
        return float(self.mass @ (self.edges[1:] + self.edges[:-1])) / 2

    @property
    def variance(self) -> float:
        """Posterior variance of the point."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        variance_in_cell = (self.edges[1] - self.edges[0]) ** 2 / 12  # of a uniform density
        return float(self.mass @ (middles - self.mean) ** 2 + variance_in_cell)


@dataclass(frozen=True)
class Population:
    """Joint posterior draws of a normal population's mean and sd, in units of the points; each of shape (draws,)."""

    mean: Floats
    sd: Floats


def draw_population(points: Sequence[Margin], rng: np.random.Generator, draws: int) -> Population:
    """Draw the mean and the standard deviation of the population of the points.

    Priors are flat: in the mean, and in the standard deviation from 0 to the total width of all margins.

    Parameters
    ----------
    points : sequence of Margin
        Posterior of each point; three or more, because fewer do not bound the standard deviation.

    Raises
    ------
    TooFewObservations
        If there are fewer than three points.

    References
    ----------
    .. [1] Gelman (2006), "Prior distributions for variance parameters in hierarchical models", Bayesian
       Analysis 1: flat in the standard deviation.
    """
    if len(points) < 3:
        raise TooFewObservations(f"{len(points)} points are too few for a spread between them; three are needed")
    axes = _GridAxes.around(points)
    ranges: Sequence[Range] = ((-ERRORS, ERRORS), (0.0, 1.0))  # mean, in standard errors; sd, mapped to [0, 1]
    for _ in range(MOST_PASSES):  # until neither axis shrinks much further
        earlier_widths = np.diff(ranges)
        ranges = _posterior_grid(points, axes, ranges).narrow(NEGLIGIBLE)
        if (np.diff(ranges) > NARROWER * earlier_widths).all():
            break
    grid = _posterior_grid(points, axes, ranges)
    cell_indices = rng.choice(grid.mass.size, draws, p=grid.mass.ravel())
    errors_from_centre, sd_position = (
        edges[indices] + (edges[1] - edges[0]) * rng.random(draws)
        for edges, indices in zip(grid.edges, np.unravel_index(cell_indices, grid.mass.shape), strict=True)
    )
    sd = axes.sd(sd_position)
    return Population(axes.mean(errors_from_centre, sd), sd)


@dataclass(frozen=True)
class _GridAxes:
    """Grid axes: the population's mean, in standard errors from the arithmetic mean, and its sd, mapped to [0, 1]."""

    centre: float  # arithmetic mean of the points' means
    scale: float  # typical distance of a point from the centre
    noise: float  # mean variance of a point's own error
    point_count: int
    widest: float  # largest sd: the total width of all margins

    @classmethod
    def around(cls, points: Sequence[Margin]) -> Self:
        means, variances = np.array([point.mean for point in points]), np.array([point.variance for point in points])
        total_width = max(point.edges[-1] for point in points) - min(point.edges[0] for point in points)
        scale = math.sqrt(means.var(ddof=1) + variances.mean())
        return cls(float(means.mean()), scale, float(variances.mean()), len(points), widest=float(total_width))

    def sd(self, share: Floats) -> Floats:
        """Map [0, 1] to a standard deviation from 0 to `widest`, with finer steps for smaller values."""
        largest = self.widest / (self.widest + self.scale)
        return np.asarray(self.scale * largest * share / (1 - largest * share))

    def sd_by_share(self, share: Floats) -> Floats:
        """Return the derivative of `sd`, up to a factor: the density that a flat prior of the sd has over [0, 1]."""
        largest = self.widest / (self.widest + self.scale)
        return np.asarray((1 - largest * share) ** -2.0)

    def error(self, sd: Floats) -> Floats:
        """Standard error of the arithmetic mean of the points, given the population's sd."""
        return np.sqrt((sd**2 + self.noise) / self.point_count)

    def mean(self, errors_from_centre: Floats, sd: Floats) -> Floats:
        """Convert a distance from the centre, in standard errors, to a mean in units of the points."""
        return np.asarray(self.centre + errors_from_centre * self.error(sd))


def _posterior_grid(points: Sequence[Margin], axes: _GridAxes, ranges: Sequence[Range]) -> Grid:
    """Compute the posterior mass of every cell (mean, sd) at its middle."""
    grid = Grid.over(ranges, (CELLS, CELLS))
    errors_from_centre, sd_position = grid.middles(0), grid.middles(1)
    sd = axes.sd(sd_position)
    mean = axes.mean(errors_from_centre[:, None], sd)
    jacobian = axes.sd_by_share(sd_position) * axes.error(sd)  # the priors are flat in the sd and in the mean
    log_mass = np.broadcast_to(np.log(jacobian), mean.shape).copy()
    for start in range(0, len(points), POINTS_AT_ONCE):
        batch = points[start : start + POINTS_AT_ONCE]
        edges = np.stack([point.edges for point in batch])
        density = np.stack([point.mass for point in batch]) / np.diff(edges)
        # the likelihood of a point integrates its posterior over the population; as a difference of the normal CDF,
        # it is exact even if sd is far smaller than the posterior's cells (axes: mean, sd, point, its posterior's cell)
        cdf = special.ndtr((edges - mean[..., None, None]) / sd[:, None, None])
        likelihood = np.einsum("mspc,pc->msp", np.diff(cdf), density)
        with np.errstate(divide="ignore"):  # a likelihood of 0 becomes a mass of 0
            log_mass += np.log(likelihood).sum(axis=2)
    return grid.with_mass(log_mass)
