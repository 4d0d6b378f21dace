"""Importance weights of generated inputs: the posterior of inputs of the positive class.

The posterior is ``p(s | +) ~ p(s) P(+ | s)`` (Liang & Acuna). Inputs drawn from ``p(s)`` follow it if each is
weighted by the service's own probability of the positive class, which is at most 1: the weights are bounded
(docs/methods/stimulus-sampling.md). The shape of the generalised Pareto tail of weights shows whether a few dominate.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.document import JsonObject
from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Floats

MIN_EFFECTIVE_SHARE = 0.1
"""Minimum ratio of the effective sample size to the number of inputs at which no surrogate model is needed.

See docs/methods/stimulus-sampling.md.
"""

HEAVY = 0.7
"""Shape k of the tail above which estimates are unreliable for any number of inputs (Vehtari et al. 2024)."""

SLACK = 1e-9
"""Permitted excess of a probability beyond [0, 1]: services round."""


@dataclass(frozen=True)
class Weights:
    """Importance weights of generated inputs, normalised to sum to 1."""

    shares: Floats
    """Weights; their sum is 1; shape (n,)."""
    effective: float
    """Effective sample size, ``(sum w)**2 / sum w**2`` (Kish)."""
    mean: float
    """Mean of the weights before they were normalised. With the service's probabilities as weights, and inputs drawn
    from the prior, it estimates the rate of the positive class."""
    tail: float | None
    """Shape k of a generalised Pareto tail of the weights. Above .7, a few inputs dominate. ``None`` if too few weights
    differ to estimate it."""

    @property
    def efficiency(self) -> float:
        """Effective sample size divided by the number of inputs, in (0, 1]."""
        return self.effective / self.shares.size

    @property
    def enough(self) -> bool:
        """Whether the weights alone give precise estimates; if not, a surrogate model is needed to pick inputs."""
        return self.efficiency >= MIN_EFFECTIVE_SHARE and not self.heavy

    @property
    def heavy(self) -> bool:
        """Whether the largest weights dominate so much that estimates cannot be trusted."""
        return self.tail is not None and self.tail > HEAVY

    def as_json(self) -> JsonObject:
        """Return the summary of the weights as JSON, without the weights themselves."""
        return {
            "inputs": int(self.shares.size),
            "effective": self.effective,
            "efficiency": self.efficiency,
            "mean": self.mean,
            "tail": self.tail,
        }


def effective(weights: Floats) -> float:
    """Return the effective sample size of weights, ``(sum w)**2 / sum w**2`` (Kish); 0 if all weights are 0."""
    return float(weights.sum() ** 2 / (weights**2).sum()) if weights.any() else 0.0


def weigh(probability: ArrayLike, proposed: ArrayLike | None = None) -> Weights:
    """Weigh inputs by the service's probability of the positive class.

    Parameters
    ----------
    probability : array_like, shape (n,)
        The service's probability of the positive class for each input.
    proposed : array_like, shape (n,), optional
        If inputs were not drawn from the prior: the density that they were drawn with, divided by the prior's,
        up to a constant; positive. For inputs from a surrogate's posterior, this is the surrogate's probability.

    Raises
    ------
    TooFewObservations
        If there is no input.
    OutOfBounds
        If a probability is outside [0, 1], or `proposed` has another length.
    EvidenceError
        If a number is not finite, a proposed density is not positive, or every probability is zero, so that
        no input is positive.
    """
    probabilities = np.asarray(probability, dtype=float)
    if probabilities.ndim != 1 or probabilities.size == 0:
        raise TooFewObservations(f"a list with one probability for each input is needed, not {probabilities.shape}")
    if unusable := np.count_nonzero(~np.isfinite(probabilities)):
        raise EvidenceError(f"{unusable} of {probabilities.size} probabilities are not finite numbers")
    if probabilities.min() < -SLACK or probabilities.max() > 1 + SLACK:
        raise OutOfBounds(
            f"probabilities must be in [0, 1], not {probabilities.min():g} to {probabilities.max():g}", "probability"
        )
    ratios = np.clip(probabilities, 0.0, 1.0) / _proposal_densities(proposed, probabilities.size)
    largest = float(ratios.max())
    if largest == 0:
        raise EvidenceError(
            f"the service gave this answer a probability of zero for each of {ratios.size} inputs: no weights"
        )
    scaled_weights = ratios / largest  # scaled, because squares of tiny weights would underflow to 0
    total = float(scaled_weights.sum())
    shares = scaled_weights / total
    effective_size = min(float(ratios.size), 1 / float(shares @ shares))  # rounding could exceed the number of inputs
    return Weights(shares, effective_size, mean=largest * total / ratios.size, tail=tail_shape(shares))


def _proposal_densities(proposed: ArrayLike | None, size: int) -> Floats:
    if proposed is None:
        return np.ones(size)  # inputs were drawn from the prior
    density = np.asarray(proposed, dtype=float)
    if density.shape != (size,):
        raise OutOfBounds(f"{size} proposed densities are needed, one for each input, not {density.shape}", "proposed")
    if not (np.isfinite(density) & (density > 0)).all():
        raise EvidenceError("an input was drawn with a density that is not a positive, finite number")
    return density


MIN_TAIL_WEIGHTS = 5
"""Minimum number of weights to fit a tail."""

TIED = 1e-12
"""Excess over the threshold, relative to the largest weight, that counts as rounding (services round)."""


def tail_shape(weights: Floats) -> float | None:
    """Estimate the shape of the tail of importance weights.

    The tail has the largest fifth of the n weights, or the ``3 sqrt(n)`` largest if these are fewer.
    Return ``None`` if too few weights differ to estimate it.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        Weights, not negative; their scale does not matter.
    """
    sorted_weights = np.sort(weights)
    tail_size = min(math.ceil(weights.size / 5), math.ceil(3 * math.sqrt(weights.size)))
    if tail_size >= weights.size:
        return None
    excess = sorted_weights[-tail_size:] - sorted_weights[-tail_size - 1]  # over the largest weight below the tail
    excess = excess[excess > TIED * sorted_weights[-1]]  # smaller ones are rounding errors of equal weights
    if excess.size < MIN_TAIL_WEIGHTS or np.ptp(excess) == 0:
        return None
    return pareto_shape(excess)


def pareto_shape(excess: ArrayLike) -> float:
    """Fit a generalised Pareto distribution to excesses over a threshold and return its shape k.

    Moments of order ``1 / k`` and above do not exist; k is negative if the tail has an end. As usual for weights, k is
    shrunk slightly towards 1/2, by ten pseudo-observations.

    Parameters
    ----------
    excess : array_like, shape (n,)
        At least five positive numbers.

    Raises
    ------
    TooFewObservations
        If there are fewer than five excesses, or they are not positive and finite.

    References
    ----------
    .. [1] Zhang & Stephens (2009), "A new and efficient estimation method for the generalized Pareto
       distribution", Technometrics 51.
    .. [2] Vehtari, Simpson, Gelman, Yao & Gabry (2024), "Pareto smoothed importance sampling", J. Mach. Learn.
       Res. 25, appendix G.
    """
    x = np.sort(np.asarray(excess, dtype=float))
    if x.ndim != 1 or x.size < MIN_TAIL_WEIGHTS or not x[0] > 0 or not np.isfinite(x[-1]):
        raise TooFewObservations(f"a tail needs {MIN_TAIL_WEIGHTS} positive, finite excesses or more")
    candidate_count = 30 + int(math.sqrt(x.size))
    quartile = x[int(x.size / 4 + 0.5) - 1]
    # candidates of [1] for theta = -k / scale, weighted below by their profile likelihoods
    theta = 1 / x[-1] + (1 - np.sqrt(candidate_count / (np.arange(1, candidate_count + 1) - 0.5))) / (3 * quartile)
    k = np.log1p(-theta[:, None] * x).mean(axis=1)  # the shape for each candidate
    log_likelihood = x.size * (np.log(-theta / k) - k - 1)
    weight = np.exp(log_likelihood - log_likelihood.max())
    best_theta = float(theta @ weight / weight.sum())
    shape = float(np.log1p(-best_theta * x).mean())
    return (x.size * shape + 5) / (x.size + 10)  # ten pseudo-observations of 1/2
