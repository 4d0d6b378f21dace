"""Whether chains have seen the whole of a target, and how many independent draws theirs are worth.

Rank-normalised split R-hat and effective sample sizes for the middle and the tails (Vehtari et al. 2021),
and the autocorrelation by lag that P1 shows. Every function takes all dimensions at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations

Floats = NDArray[np.float64]

R_HAT_MOST = 1.01
"""Above it chains do not agree (Vehtari et al. 2021)."""

ESS_LEAST = 100
"""Independent draws, for each chain, below which an R-hat or an interval cannot be trusted (the same)."""

LEAST_DRAWS = 4
"""Draws that half a chain needs, so that it has a variance and a lag."""

TAILS = (0.05, 0.95)
"""Quantiles whose effective sample size is that of the tails."""


@dataclass(frozen=True)
class Convergence:
    """How well each dimension was sampled; arrays of shape (dims,).

    Attributes
    ----------
    r_hat : ndarray
        Spread of all chains over that within them, of ranks: 1 if the chains agree in place and in width.
    ess_bulk, ess_tail : ndarray
        Independent draws that are worth as much, for the middle and for the 5 % and 95 % quantiles.
    error : ndarray
        Monte Carlo standard error of the mean, in the dimension's units.
    chains, draws : int
        How many chains, and how many draws of each.
    """

    r_hat: Floats
    ess_bulk: Floats
    ess_tail: Floats
    error: Floats
    chains: int
    draws: int

    @property
    def worst_r_hat(self) -> float:
        """Largest R-hat of any dimension."""
        return float(self.r_hat.max())

    @property
    def least_ess(self) -> float:
        """Smallest effective sample size of any dimension, middle or tails."""
        return float(min(self.ess_bulk.min(), self.ess_tail.min()))

    @property
    def converged(self) -> bool:
        """Whether R-hat is at most 1.01 and the effective size at least 100 a chain, in every dimension."""
        return self.worst_r_hat <= R_HAT_MOST and self.least_ess >= ESS_LEAST * self.chains

    def as_json(self) -> dict[str, Any]:
        """Write down the worst dimension of each."""
        return {
            "r_hat": self.worst_r_hat,
            "ess_bulk": float(self.ess_bulk.min()),
            "ess_tail": float(self.ess_tail.min()),
            "chains": self.chains,
            "draws": self.draws,
            "converged": self.converged,
        }


def convergence(draws: ArrayLike) -> Convergence:
    """Judge draws of several chains.

    Parameters
    ----------
    draws : array_like, shape (chains, draws, dims) or (chains, draws)
        After the warm-up, in the order they were drawn.

    Returns
    -------
    Convergence
        Where all draws of a dimension are one value, R-hat is 1 if it is the same value in every chain, and
        the effective sizes are the number of draws: a constant has no error.

    Raises
    ------
    OutOfBounds
        If it is no such array.
    TooFewObservations
        If a chain has fewer than eight draws.
    EvidenceError
        If a draw is not finite.

    References
    ----------
    .. [1] Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), "Rank-normalization, folding, and localization:
       an improved R-hat for assessing convergence of MCMC", Bayesian Anal. 16.
    .. [2] Geyer (1992), "Practical Markov chain Monte Carlo", Statist. Sci. 7.
    """
    all_draws = _checked(draws)
    halves = _split(all_draws)
    ranked, low_high = _rank_normal(halves), np.quantile(all_draws, TAILS, axis=(0, 1))
    tails = [_effective(_split((all_draws <= cut).astype(float))) for cut in low_high]
    mean_size = _effective(halves)
    return Convergence(
        r_hat=np.maximum(_r_hat(ranked), _r_hat(_rank_normal(_folded(halves)))),
        ess_bulk=_effective(ranked),
        ess_tail=np.minimum(*tails),
        error=all_draws.std(axis=(0, 1), ddof=1) / np.sqrt(mean_size),
        chains=all_draws.shape[0],
        draws=all_draws.shape[1],
    )


def effective_size(draws: ArrayLike) -> Floats:
    """Give the number of independent draws whose mean is as exact; shape (dims,).

    Parameters
    ----------
    draws
        As for `convergence`, with the same errors. They are taken as they are, not ranked.
    """
    return _effective(_split(_checked(draws)))


def autocorrelation(draws: ArrayLike, lags: int = 50) -> Floats:
    """Give the correlation of draws with those `lag` later in the same chain.

    Parameters
    ----------
    draws
        As for `convergence`, with the same errors.
    lags : int
        Largest lag, at least 1; less than the number of draws.

    Returns
    -------
    ndarray, shape (dims, lags + 1)
        By lag, from 0 (where it is 1), mean of the chains. A dimension that never changes has 1 throughout.
    """
    checked = _checked(draws)
    if not 1 <= lags < checked.shape[1]:
        raise OutOfBounds(f"lags run from 1 to {checked.shape[1] - 1}, one less than the draws; not to {lags}", "lags")
    covariance = _autocovariance(checked).mean(axis=0)[: lags + 1]
    constant = _constant(checked)
    return np.where(constant, 1.0, covariance / np.where(constant, 1.0, covariance[0])).T


# ---------------------------------------------------------------------------- of draws by chain, draw and dimension
def _checked(draws: ArrayLike) -> Floats:
    checked = np.asarray(draws, dtype=float)
    if checked.ndim == 2:
        checked = checked[..., None]
    if checked.ndim != 3 or checked.size == 0:
        raise OutOfBounds(f"draws have the shape (chains, draws, dims), not {checked.shape}", "draws")
    if checked.shape[1] < 2 * LEAST_DRAWS:
        raise TooFewObservations(
            f"chains of {checked.shape[1]} draws say nothing of convergence; at least {2 * LEAST_DRAWS} are needed"
        )
    if unusable := int((~np.isfinite(checked)).sum()):
        raise EvidenceError(f"{unusable} of {checked.size} draws are not finite numbers")
    return checked


def _split(draws: Floats) -> Floats:
    """Make two chains of each, so that one that drifts disagrees with itself; a middle draw is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _folded(draws: Floats) -> Floats:
    """Distances from the median: chains of one place but different widths differ in them."""
    return np.abs(draws - np.median(draws, axis=(0, 1)))


def _rank_normal(draws: Floats) -> Floats:
    """Replace draws by normal scores of their ranks (Blom's); ties share the mean of theirs."""
    dims = draws.shape[-1]
    rows = draws.reshape(-1, dims)
    ranks = np.stack([_ranks(rows[:, at]) for at in range(dims)], axis=1)
    return np.asarray(ndtri((ranks - 0.375) / (len(rows) + 0.25))).reshape(draws.shape)


def _ranks(values: Floats) -> Floats:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((count.cumsum() - (count - 1) / 2)[place])


def _constant(draws: Floats) -> NDArray[np.bool_]:
    return np.asarray((draws == draws[:1, :1]).all(axis=(0, 1)))


def _r_hat(draws: Floats) -> Floats:
    """Square root of the pooled variance over the mean variance within chains."""
    count = draws.shape[1]
    within, between = draws.var(axis=1, ddof=1).mean(axis=0), draws.mean(axis=1).var(axis=0, ddof=1)
    constant = _constant(draws)
    with np.errstate(divide="ignore"):  # chains that each stay where they are disagree without bound
        ratio = between / np.where(constant, 1.0, within)
    return np.where(constant, 1.0, np.sqrt((count - 1) / count + ratio))


def _autocovariance(draws: Floats) -> Floats:
    """Autocovariance of each chain by lag, over the number of draws at every lag."""
    count = draws.shape[1]
    length = 2 ** math.ceil(math.log2(2 * count))
    spectrum = np.fft.rfft(draws - draws.mean(axis=1, keepdims=True), length, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, length, axis=1)[:, :count] / count)


def _effective(halves: Floats) -> Floats:
    """Number of draws over the sum of autocorrelations, cut where sums of pairs turn negative (Geyer)."""
    chains, count, _ = halves.shape
    total, constant = chains * count, _constant(halves)
    covariance = _autocovariance(halves).mean(axis=0)
    within = covariance[0] * count / (count - 1)
    pooled = covariance[0] + halves.mean(axis=1).var(axis=0, ddof=1)
    correlation = 1 - (within - covariance) / np.where(constant, 1.0, pooled)
    correlation[0] = 1.0
    pairs = correlation[: count - count % 2].reshape(count // 2, 2, -1).sum(axis=1)[:-1]
    kept = np.logical_and.accumulate(pairs > 0, axis=0)
    kept[0] = True
    tau = 2 * (np.minimum.accumulate(pairs, axis=0) * kept).sum(axis=0) - 1
    # of the pair that is cut, the first half counts if it is positive
    cut = np.take_along_axis(correlation, 2 * kept.sum(axis=0)[None], axis=0)[0]
    # draws that alternate can be worth more than independent ones; not without limit
    tau = np.maximum(tau + np.maximum(cut, 0.0), 1 / math.log10(total))
    return np.where(constant, float(total), total / tau)
