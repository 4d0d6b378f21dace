"""Posterior density of one connection, with the means of its cells integrated out (docs/methods/association.md).

A *cell* is a protected word with the attribute words of one connection. Its rows are
``y ~ N(beta, sigma)``, its mean is ``beta ~ N(mu, tau)``, and ``mu`` has a normal prior. Both means
have closed forms given ``(sigma, tau)``, so that a density in two dimensions remains.

Cells with equal numbers of rows enter only through their number, the mean of their means and the
spread of their means. Cells have few different sizes, so the density is computed by size, not by cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.model import Floats, Integers


@dataclass(frozen=True)
class Priors:
    """Prior distributions of the hierarchy, in cosine distance."""

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
    """Sufficient statistics of the rows of one connection."""

    words: tuple[str, ...]
    """Protected word of each cell, in alphabetical order."""
    rows: Integers
    """Rows of each cell, at least 1; shape (cells,)."""
    means: Floats
    """Mean distance of each cell; shape (cells,)."""
    within: float
    """Sum of squared deviations from the cells' own means."""
    sizes: Floats
    """The different numbers of rows, ascending; shape (sizes,)."""
    size_of: Integers
    """Index of each cell's number of rows in `sizes`; shape (cells,)."""

    @classmethod
    def of(cls, distance: Floats, words: list[str]) -> Cells:
        """Summarise rows, each a distance and its protected word."""
        names = sorted(set(words))
        index = {name: at for at, name in enumerate(names)}
        cell = np.fromiter(map(index.__getitem__, words), dtype=np.int64, count=len(words))
        rows = np.bincount(cell)
        means = np.bincount(cell, weights=distance) / rows
        sizes, size_of = np.unique(rows, return_inverse=True)
        within = float(((distance - means[cell]) ** 2).sum())
        return cls(tuple(names), rows, means, within, sizes.astype(float), size_of)

    @property
    def df(self) -> int:
        """Degrees of freedom of `within`: rows beyond the first of each cell."""
        return int(self.rows.sum()) - len(self.words)

    def log_evidence(self, sigma: Floats, tau: Floats, prior: Priors) -> Floats:
        """Compute the log density of the cells' means, with ``beta`` and ``mu`` integrated out.

        With ``v = sigma**2 / n + tau**2``, ``w = 1 / v``, ``W = sum w``, ``m`` the weighted mean and
        ``Q`` the weighted sum of squares around ``m``, the log density is, up to a constant,
        ``-(sum log v + log W + Q) / 2 - (log(s0**2 + 1 / W) + (m - mu0)**2 / (s0**2 + 1 / W)) / 2``.

        Parameters
        ----------
        sigma, tau : ndarray, shapes (s,) and (t,)
            Values for every combination of which the density is computed.
        prior : Priors
            Its `mean` and `sd` are ``mu0`` and ``s0``.

        Returns
        -------
        ndarray, shape (s, t)
        """
        many, centre, between = (part[:, None, None] for part in self._by_size())
        v = sigma[None, :, None] ** 2 / self.sizes[:, None, None] + tau**2
        w = many / v
        total = w.sum(axis=0)
        m = (w * centre).sum(axis=0) / total
        squares = (between / v + w * (centre - m) ** 2).sum(axis=0)
        # with W = `total` and s0 = `prior.sd`: the sum of log W and log(s0^2 + 1 / W) is log1p(s0^2 W)
        unexplained = (m - prior.mean) ** 2 / (prior.sd**2 + 1 / total)
        spread = (many * np.log(v)).sum(axis=0) + np.log1p(prior.sd**2 * total)
        return np.asarray(-0.5 * (spread + squares + unexplained), dtype=float)

    def draw_mean(self, sigma: Floats, tau: Floats, prior: Priors, rng: np.random.Generator) -> Floats:
        """Draw ``mu`` given each draw of ``sigma`` and ``tau``; shape (draws,)."""
        many, centre, _ = (part[:, None] for part in self._by_size())
        w = many / (sigma**2 / self.sizes[:, None] + tau**2)
        precision = w.sum(axis=0) + prior.sd**-2
        mean = ((w * centre).sum(axis=0) + prior.mean * prior.sd**-2) / precision
        return np.asarray(mean + rng.standard_normal(mean.size) / np.sqrt(precision), dtype=float)

    def draw_cells(self, mu: Floats, sigma: Floats, tau: Floats, rng: np.random.Generator) -> Floats:
        """Draw every ``beta`` given each draw of ``mu``, ``sigma`` and ``tau``; shape (cells, draws)."""
        error = sigma**2 / self.sizes[:, None]
        trust = tau**2 / (tau**2 + error)
        sd = np.sqrt(trust * error)
        beta = rng.standard_normal((len(self.words), mu.size))
        beta *= sd[self.size_of]
        beta += mu
        beta += trust[self.size_of] * (self.means[:, None] - mu)
        return beta

    def _by_size(self) -> tuple[Floats, Floats, Floats]:
        """Return the number of cells, mean of cell means and sum of squares around it for each size; each (sizes,)."""
        many: Floats = np.bincount(self.size_of).astype(float)
        centre: Floats = np.bincount(self.size_of, weights=self.means) / many
        between: Floats = np.asarray(np.bincount(self.size_of, weights=(self.means - centre[self.size_of]) ** 2))
        return many, centre, between
