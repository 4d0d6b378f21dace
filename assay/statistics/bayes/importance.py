"""Importance weights of generated inputs: the posterior of inputs of the positive class.

The posterior is ``p(s | +) ~ p(s) P(+ | s)`` (P1). Inputs drawn from ``p(s)`` follow the posterior if each is
weighted by the service's own probability of the positive class, which is at most 1: the weights are bounded
(docs/methods/stimulus-sampling.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations
from assay.model import Floats
from assay.statistics.bayes.pareto_tail import tail_shape

ENOUGH = 0.1
"""Minimum ratio of the effective sample size to the number of inputs for weights alone.

See docs/methods/stimulus-sampling.md.
"""

HEAVY = 0.7
"""Shape k of the tail above which estimates are unreliable for any number of inputs (Vehtari et al. 2024)."""

SLACK = 1e-9
"""Permitted excess of a probability beyond [0, 1]: services round."""


@dataclass(frozen=True)
class Weights:
    """Normalised importance weights."""

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
        """Whether the weights alone suffice; if not, a surrogate is needed to pick inputs."""
        return self.efficiency >= ENOUGH and not self.heavy

    @property
    def heavy(self) -> bool:
        """Whether the largest weights dominate so much that estimates cannot be trusted."""
        return self.tail is not None and self.tail > HEAVY

    def as_json(self) -> dict[str, Any]:
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
        raise TooFewObservations(f"weights need a row of probabilities, one for each input, not {probabilities.shape}")
    if not np.isfinite(probabilities).all():
        raise EvidenceError(
            f"{int((~np.isfinite(probabilities)).sum())} of {probabilities.size} probabilities are not finite numbers"
        )
    if probabilities.min() < -SLACK or probabilities.max() > 1 + SLACK:
        raise OutOfBounds(
            f"probabilities must be in [0, 1]; they range from {probabilities.min():g} to {probabilities.max():g}",
            "probability",
        )
    raw = np.clip(probabilities, 0.0, 1.0) / _proposed(proposed, probabilities.size)
    if (largest := float(raw.max())) == 0:
        raise EvidenceError(f"the service gave the answer a probability of zero for each of {raw.size} inputs")
    scaled = raw / largest  # scaled, because squares of tiny weights would underflow to 0
    total = float(scaled.sum())
    shares = scaled / total
    return Weights(
        shares, min(float(raw.size), 1 / float(shares @ shares)), largest * total / raw.size, tail_shape(shares)
    )


def _proposed(proposed: ArrayLike | None, size: int) -> Floats:
    if proposed is None:
        return np.ones(size)
    density = np.asarray(proposed, dtype=float)
    if density.shape != (size,):
        raise OutOfBounds(f"{size} proposed densities are needed, one for each input, not {density.shape}", "proposed")
    if not (np.isfinite(density) & (density > 0)).all():
        raise EvidenceError("an input was drawn with a density that is not a positive, finite number")
    return density
