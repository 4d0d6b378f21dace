"""Posterior masses on a rectangular grid that is narrowed to the region with mass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.model import Floats

Range = tuple[float, float]


@dataclass(frozen=True)
class Grid:
    """Probability masses of the cells of a grid."""

    edges: Sequence[Floats]
    """Edges of the cells along each axis, ascending; shape (cells + 1,)."""
    mass: Floats
    """Mass of each cell; the density within a cell is uniform; one dimension for each axis."""

    @classmethod
    def over(cls, ranges: Sequence[Range], cell_counts: Sequence[int]) -> Self:
        """Return a grid that divides the range of each axis into equal cells, with a mass of 0."""
        edges = [np.linspace(*ends, count + 1) for ends, count in zip(ranges, cell_counts, strict=True)]
        return cls(edges, np.zeros(tuple(cell_counts)))

    def with_mass(self, log_mass: Floats) -> "Grid":
        """Return the grid with the masses ``exp(log_mass)``, scaled to sum to one."""
        mass = np.exp(log_mass - log_mass.max())
        return Grid(self.edges, mass / mass.sum())

    def middles(self, axis: int) -> Floats:
        """Middles of the cells along an axis."""
        return (self.edges[axis][1:] + self.edges[axis][:-1]) / 2

    def margin(self, axis: int) -> Floats:
        """Marginal masses along an axis: sums over all other axes."""
        return np.asarray(self.mass.sum(axis=tuple(index for index in range(self.mass.ndim) if index != axis)))

    def quantiles(self, axis: int, levels: ArrayLike) -> Floats:
        """Quantiles of the marginal distribution along an axis."""
        cumulative = np.concatenate([[0.0], np.cumsum(self.margin(axis))])
        return np.asarray(np.interp(np.asarray(levels, dtype=float), cumulative, self.edges[axis]))

    def narrow(self, negligible: float) -> tuple[Range, ...]:
        """Return a range for each axis without its ends of mass below `negligible`, except for one cell of each end."""
        ranges = []
        for axis, edges in enumerate(self.edges):
            first, last = np.searchsorted(np.cumsum(self.margin(axis)), [negligible, 1 - negligible])
            low, high = edges[max(0, first - 1)], edges[min(len(edges) - 1, last + 2)]  # `last` ends at edge last + 1
            ranges.append((float(low), float(high)))
        return tuple(ranges)
