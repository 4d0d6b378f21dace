"""A logit that stands in for a service, so that its rare answers can be looked for without asking it.

A few hundred replies are enough for a ridge logit in the inputs' vectors. It is cheap and has a gradient:
NUTS draws from its posterior, or a pool of inputs is picked from by it. The service is then asked about what
was drawn, and the ratio of its probability to the surrogate's corrects what the surrogate got wrong
(METHODS section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from assay.errors import EvidenceError, OutOfBounds, ZeroVariance
from assay.statistics.nuts import Sampled, sample_nuts
from assay.statistics.nuts_tree import Target
from assay.statistics.vector_sets import as_vectors

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

STEPS = 1000
"""Steps of the fit at most; some tens are needed."""

FLAT = 1e-8
"""Gradient, for each reply, that counts as none."""

DEFENCE = 0.1
"""Share of a pool's picks that ignore the surrogate, so that no weight exceeds ten times the mean."""

NEGLIGIBLE = 1e-10
"""Spread along a direction, over the largest, that counts as none."""

APART = 2.0
"""Sd of the places chains start from, in sds of the prior: wider than any posterior of it."""


@dataclass(frozen=True)
class Surrogate:
    """``P(yes | s) = 1 / (1 + exp(-(constant + weights . s)))``.

    Attributes
    ----------
    weights : ndarray, shape (dims,)
        Log odds for each unit of the input's vector.
    constant : float
        Log odds at the origin.
    """

    weights: Floats
    constant: float

    def score(self, vectors: Floats) -> Floats:
        """Log odds of yes; shape (n,)."""
        return np.asarray(vectors @ self.weights + self.constant)

    def probability(self, vectors: Floats) -> Floats:
        """Probability of yes, of each row; shape (n,)."""
        return np.asarray(expit(self.score(vectors)))

    def as_json(self) -> dict[str, Any]:
        """Write it down."""
        return {"weights": self.weights.tolist(), "constant": self.constant}


@dataclass(frozen=True)
class NormalPrior:
    """A normal distribution of input vectors.

    Attributes
    ----------
    mean : ndarray, shape (dims,)
        Their mean.
    factor : ndarray, shape (dims, rank)
        A vector is ``mean + factor @ z`` with z standard normal. Directions without spread have no column.
    """

    mean: Floats
    factor: Floats

    @classmethod
    def of(cls, vectors: ArrayLike) -> NormalPrior:
        """Fit one to inputs: their mean and their covariance.

        Raises
        ------
        TooFewObservations, OutOfBounds, EvidenceError
            If there are fewer than two vectors, or they are no vectors.
        ZeroVariance
            If all are the same.
        """
        matrix = as_vectors(vectors, "the inputs", least=2)
        mean = matrix.mean(axis=0)
        _, spread, axes = np.linalg.svd(matrix - mean, full_matrices=False)
        kept = spread > NEGLIGIBLE * max(spread[0], np.abs(mean).max(initial=0.0))
        if not kept.any():
            raise ZeroVariance(f"all {len(matrix)} inputs are the same vector; a prior needs inputs that differ")
        return cls(mean, axes[kept].T * (spread[kept] / np.sqrt(len(matrix) - 1)))

    @property
    def rank(self) -> int:
        """Directions that it has spread in."""
        return int(self.factor.shape[1])

    def place(self, standard: Floats) -> Floats:
        """Turn standard normal coordinates, shape (..., rank), into vectors."""
        return np.asarray(standard @ self.factor.T + self.mean)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw vectors; shape (count, dims)."""
        return self.place(rng.standard_normal((count, self.rank)))


@dataclass(frozen=True)
class Picked:
    """Inputs picked from a pool.

    Attributes
    ----------
    which : ndarray of int, shape (n,)
        Their places in the pool; an input may be picked more than once.
    density : ndarray, shape (n,)
        How much likelier each was to be picked than by chance: what `importance.weigh` calls `proposed`.
    """

    which: Whole
    density: Floats


def fit_surrogate(vectors: ArrayLike, probability: ArrayLike, *, ridge: float = 1.0) -> Surrogate:
    """Fit the logit to a service's probabilities.

    Parameters
    ----------
    vectors : array_like, shape (n, dims)
        Inputs; two at least.
    probability : array_like, shape (n,)
        What the service said of each, in [0, 1]; hard labels are 0 and 1.
    ridge : float
        Weight, positive, of the squared weights: of ``ridge / 2 |w|**2`` with every dimension scaled to
        have sd 1. The constant goes free, but for as much as bounds it.

    Returns
    -------
    Surrogate

    Raises
    ------
    TooFewObservations
        If there are fewer than two inputs.
    OutOfBounds
        If there are not as many probabilities, one is outside [0, 1], or the ridge is not positive.
    EvidenceError
        If a number is not finite, or the fit does not settle.
    ZeroVariance
        If every probability is 0 or every one is 1: such replies do not say where the answer changes.
    """
    inputs = as_vectors(vectors, "the inputs", least=2)
    said = _probabilities(probability, len(inputs))
    if not 0 < ridge < np.inf:
        raise OutOfBounds(f"the ridge is a positive number, not {ridge}", "ridge")
    mean, sd = inputs.mean(axis=0), inputs.std(axis=0)
    sd = np.where(sd > NEGLIGIBLE * np.maximum(1.0, np.abs(mean)), sd, np.inf)  # a dimension that is constant
    fitted = _fit((inputs - mean) / sd, said, ridge)
    weights = fitted[:-1] / sd
    return Surrogate(weights, float(fitted[-1] - weights @ mean))


def posterior_target(surrogate: Surrogate, prior: NormalPrior) -> Target:
    """Give the density of inputs that make the surrogate say yes, for NUTS, in the prior's own coordinates.

    There the prior is standard normal however its dimensions are scaled and correlated, and the surrogate bends
    it along one direction.
    """
    slope, constant = surrogate.weights @ prior.factor, float(surrogate.weights @ prior.mean + surrogate.constant)

    def target(standard: Floats) -> tuple[Floats, Floats]:
        score = standard @ slope + constant
        density = log_expit(score) - np.vecdot(standard, standard) / 2
        return density, expit(-score)[:, None] * slope - standard

    return target


def sample_posterior(
    surrogate: Surrogate,
    prior: NormalPrior,
    rng: np.random.Generator,
    *,
    chains: int = 4,
    draws: int = 500,
    warm_up: int = 200,
) -> Sampled:
    """Draw the inputs that make the surrogate say yes.

    Parameters
    ----------
    surrogate, prior
        What says yes, and how inputs are distributed.
    rng : Generator
        Of all random numbers.
    chains, draws, warm_up : int
        As for `nuts.sample_nuts`.

    Returns
    -------
    Sampled
        Its draws are in the prior's coordinates: `NormalPrior.place` makes vectors of them.

    Notes
    -----
    Ask the service about (some of) the vectors, and weigh them with ``importance.weigh(its probabilities,
    surrogate.probability(vectors))``. Consecutive draws of a chain are not independent: thin them to the
    effective sample size before asking.
    """
    start = APART * rng.standard_normal((chains, prior.rank))
    return sample_nuts(posterior_target(surrogate, prior), start, rng, draws=draws, warm_up=warm_up)


def pick(surrogate: Surrogate, pool: ArrayLike, count: int, rng: np.random.Generator) -> Picked:
    """Pick inputs from a pool, such as generated texts, those that the surrogate expects a yes of the likelier.

    Parameters
    ----------
    surrogate : Surrogate
        What the service is expected to say.
    pool : array_like, shape (n, dims)
        Vectors of the inputs, drawn from the prior.
    count : int
        How many to pick, with replacement: the service is asked once about each that is picked.
    rng : Generator
        Picks.

    Returns
    -------
    Picked
        A tenth of the picks ignore the surrogate (`DEFENCE`), so that what it overlooks is not lost.

    Raises
    ------
    TooFewObservations, OutOfBounds, EvidenceError
        If the pool holds no vectors, or nothing is to be picked.
    """
    vectors = as_vectors(pool, "the pool", dims=surrogate.weights.size)
    if count < 1:
        raise OutOfBounds(f"at least one input is to be picked, not {count}", "count")
    log_expected = log_expit(surrogate.score(vectors))
    expected = np.exp(log_expected - log_expected.max())
    density = (1 - DEFENCE) * expected / expected.mean() + DEFENCE
    which = rng.choice(len(vectors), count, p=density / density.sum())
    return Picked(which, density[which])


def _probabilities(probability: ArrayLike, count: int) -> Floats:
    said = np.asarray(probability, dtype=float)
    if said.shape != (count,):
        raise OutOfBounds(f"{count} probabilities are needed, one for each input, not {said.shape}", "probability")
    if not np.isfinite(said).all():
        raise EvidenceError(f"{int((~np.isfinite(said)).sum())} of {count} probabilities are not finite numbers")
    if said.min() < 0 or said.max() > 1:
        raise OutOfBounds(f"probabilities lie in [0, 1], not from {said.min():g} to {said.max():g}", "probability")
    if (said == 0).all() or (said == 1).all():
        raise ZeroVariance(
            f"every one of {count} replies has the probability {said[0]:g}; a surrogate needs replies that differ"
        )
    return said


def _fit(inputs: Floats, said: Floats, ridge: float) -> Floats:
    """Minimise the penalised cross-entropy; weights, then the constant."""
    # heavy inside: only who fits pays for it
    from scipy.optimize import minimize

    design = np.column_stack([inputs, np.ones(len(inputs))])
    # the constant is bounded where answers are all of one kind but for rounding
    penalty = np.append(np.full(inputs.shape[1], ridge), 1e-6)

    def cost(parameters: Floats) -> tuple[float, Floats]:
        score = design @ parameters
        misfit = -(log_expit(score) - (1 - said) * score).sum()
        gradient = design.T @ (expit(score) - said) + penalty * parameters
        return float(misfit + penalty @ parameters**2 / 2), gradient

    start = np.zeros(design.shape[1])
    share = np.clip(said.mean(), 1e-9, 1 - 1e-9)
    start[-1] = np.log(share / (1 - share))
    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "gtol": FLAT * len(said), "ftol": 0.0, "maxcor": 30},
    )
    if np.abs(found.jac).max() > 1e3 * FLAT * len(said):
        raise EvidenceError(f"the surrogate did not settle in {found.nit} steps; are the inputs on one scale?")
    return np.asarray(found.x, dtype=float)
