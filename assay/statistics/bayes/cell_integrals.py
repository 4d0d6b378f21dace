"""The cells of one connection, with their means integrated out (METHODS section 6).

A *cell* is a protected word with the attribute words of one connection. Its rows are
``y ~ N(beta, sigma)``, its mean is ``beta ~ N(mu, tau)``, and ``mu`` has a normal prior. Both means
have closed forms given ``(sigma, tau)``, so that what is left of a connection has two dimensions.

Cells of one size enter only through their number, the mean of their means and the spread of these:
word lists make few sizes, and a density over a grid costs as much as there are sizes, not cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.model import Floats, Integers


@dataclass(frozen=True)
class Priors:
    """Prior distributions of the hierarchy, in cosine distance.

    Attributes
    ----------
    mean, sd : float
        Of the normal prior of every connection's mean ``mu``.
    spread_rate, residual_rate : float
        Rates of the exponential priors of ``tau`` and of ``sigma``; the prior mean is 1 / rate.
    """

    mean: float = 1.0
    sd: float = 0.3
    spread_rate: float = 2.0
    residual_rate: float = 2.0


@dataclass(frozen=True)
class Cells:
    """Sufficient statistics of the rows of one connection.

    Attributes
    ----------
    words : tuple of str
        Protected word of each cell, in alphabetical order.
    rows : ndarray of int, shape (cells,)
        Rows of each cell, at least 1.
    means : ndarray, shape (cells,)
        Mean distance of each cell.
    within : float
        Sum of squared deviations from the cells' own means.
    sizes : ndarray, shape (sizes,)
        The different numbers of rows, ascending.
    size_of : ndarray of int, shape (cells,)
        Place of each cell's number among them.
    """

    words: tuple[str, ...]
    rows: Integers
    means: Floats
    within: float
    sizes: Floats
    size_of: Integers

    @classmethod
    def of(cls, distance: Floats, words: list[str]) -> Cells:
        """Summarise rows, each a distance and its protected word."""
        names = sorted(set(words))
        place = {name: at for at, name in enumerate(names)}
        cell = np.fromiter(map(place.__getitem__, words), dtype=np.int64, count=len(words))
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
        """Log density of the cells' means, ``beta`` and ``mu`` integrated out.

        With ``v = sigma**2 / n + tau**2``, ``w = 1 / v``, ``W = sum w``, ``m`` the weighted mean and
        ``Q`` the weighted squares around it, it is, up to a constant,
        ``-(sum log v + log W + Q) / 2 - (log(s0**2 + 1 / W) + (m - mu0)**2 / (s0**2 + 1 / W)) / 2``.

        Parameters
        ----------
        sigma, tau : ndarray, shapes (s,) and (t,)
            Where to evaluate.
        prior : Priors
            ``mu0`` and ``s0`` are its `mean` and `sd`.

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
        """Draw every ``beta`` given each draw of the others; shape (cells, draws)."""
        error = sigma**2 / self.sizes[:, None]
        trust = tau**2 / (tau**2 + error)
        sd = np.sqrt(trust * error)
        beta = rng.standard_normal((len(self.words), mu.size))
        beta *= sd[self.size_of]
        beta += mu
        beta += trust[self.size_of] * (self.means[:, None] - mu)
        return beta

    def _by_size(self) -> tuple[Floats, Floats, Floats]:
        """For each cell size: number of cells, mean of their means, and sum of squares around it; each (sizes,)."""
        many: Floats = np.bincount(self.size_of).astype(float)
        centre: Floats = np.bincount(self.size_of, weights=self.means) / many
        between: Floats = np.asarray(np.bincount(self.size_of, weights=(self.means - centre[self.size_of]) ** 2))
        return many, centre, between
