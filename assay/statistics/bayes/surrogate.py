"""Surrogate model of a service, which finds inputs with rare answers without calling the service.

A ridge logit in the inputs' vectors is fitted to a few hundred replies. Inputs are drawn from its posterior, or
picked from a pool by its probabilities, at no cost. The service is asked only about these inputs, and the ratio
of its probability to the surrogate's corrects the surrogate's errors (docs/methods/stimulus-sampling.md).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.document import JsonObject
from assay.errors import EvidenceError, OutOfBounds, ZeroVariance
from assay.model import Floats
from assay.statistics.embeddings.vector_sets import as_vectors
from assay.statistics.special import special

STEPS = 1000
"""Maximum number of steps of the fit; a few dozen are usual."""

FLAT = 1e-8
"""Gradient per reply that counts as zero."""

DEFENCE = 0.1
"""Share of picks from a pool that are made without the surrogate, so that no weight exceeds ten times the mean."""

NEGLIGIBLE = 1e-10
"""Spread along a direction, relative to the largest, that counts as zero."""

GRID = np.linspace(-9.0, 9.0, 4001)
"""Grid along the slope (the direction in which the logit changes), around the posterior's mode, in sds of the prior.

The posterior falls off at least as fast as the prior on both sides of its mode, so the mass outside is negligible.
"""


@dataclass(frozen=True)
class Surrogate:
    """Logit that replaces a service: ``P(+ | s) = 1 / (1 + exp(-(constant + weights . s)))`` for an input s."""

    weights: Floats
    """Change of the log odds of the positive class per unit of each dimension of the input; shape (dims,)."""
    constant: float

    def score(self, vectors: Floats) -> Floats:
        """Log odds of the positive class; shape (n,)."""
        return np.asarray(vectors @ self.weights + self.constant)

    def probability(self, vectors: Floats) -> Floats:
        """Probability of the positive class, of each row; shape (n,)."""
        return np.asarray(special.expit(self.score(vectors)))

    def as_json(self) -> JsonObject:
        """Return the surrogate as JSON."""
        return {"weights": self.weights.tolist(), "constant": self.constant}


@dataclass(frozen=True)
class NormalPrior:
    """A normal distribution of input vectors."""

    mean: Floats
    factor: Floats
    """A vector is ``mean + factor @ z`` with z standard normal; shape (dims, rank). Directions without spread have no
    column."""

    @classmethod
    def of(cls, vectors: ArrayLike) -> Self:
        """Fit a normal distribution to input vectors, by their mean and their covariance.

        Raise `ZeroVariance` if all vectors are the same; other errors are those of `as_vectors`, which needs two
        vectors.
        """
        matrix = as_vectors(vectors, "the inputs", least=2)
        mean = matrix.mean(axis=0)
        _, singular_values, axes = np.linalg.svd(matrix - mean, full_matrices=False)
        # the mean counts too, because the rounding errors of equal vectors grow with it
        has_spread = singular_values > NEGLIGIBLE * max(singular_values[0], np.abs(mean).max(initial=0.0))
        if not has_spread.any():
            raise ZeroVariance(f"all {len(matrix)} inputs are the same vector; a prior needs inputs that differ")
        # the sign of an axis depends on the processor; its largest coordinate is made positive
        axes = axes * np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1))
        return cls(mean, factor=axes[has_spread].T * (singular_values[has_spread] / np.sqrt(len(matrix) - 1)))

    @property
    def rank(self) -> int:
        """Number of independent directions in which the vectors vary."""
        return int(self.factor.shape[1])

    def vectors_at(self, coordinates: Floats) -> Floats:
        """Convert standard normal coordinates, shape (..., rank), to vectors."""
        return np.asarray(coordinates @ self.factor.T + self.mean)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw vectors; shape (count, dims)."""
        return self.vectors_at(rng.standard_normal((count, self.rank)))


def fit_surrogate(vectors: ArrayLike, probability: ArrayLike, *, ridge: float = 1.0) -> Surrogate:
    """Fit a linear logit, the surrogate, to a service's probabilities of the positive class.

    Parameters
    ----------
    vectors : array_like, shape (n, dims)
        Inputs; two at least.
    probability : array_like, shape (n,)
        The service's probability of the positive class for each input, in [0, 1]; hard labels are 0 and 1.
    ridge : float
        Positive factor of the penalty ``ridge / 2 |w|**2``, with every dimension scaled to have sd 1. The
        penalty of the constant is tiny: it only keeps the constant finite.

    Raises
    ------
    TooFewObservations
        If there are fewer than two inputs.
    OutOfBounds
        If there is not one probability for each input, one is outside [0, 1], or `ridge` is not positive.
    EvidenceError
        If a number is not finite, or the fit does not converge.
    ZeroVariance
        If every probability is 0 or every one is 1: such replies do not say where the answer changes.
    """
    inputs = as_vectors(vectors, "the inputs", least=2)
    probabilities = _validate_probabilities(probability, len(inputs))
    if not 0 < ridge < np.inf:
        raise OutOfBounds(f"the ridge must be a positive number, not {ridge}", "ridge")
    mean, sd = inputs.mean(axis=0), inputs.std(axis=0)
    # a constant dimension gets an infinite sd, so that its weight is 0
    sd = np.where(sd > NEGLIGIBLE * np.maximum(1.0, np.abs(mean)), sd, np.inf)
    scaled_weights, constant_at_mean = _fit_weights((inputs - mean) / sd, probabilities, ridge)
    weights = scaled_weights / sd
    return Surrogate(weights, float(constant_at_mean - weights @ mean))


def sample_posterior(surrogate: Surrogate, prior: NormalPrior, count: int, rng: np.random.Generator) -> Floats:
    """Draw independent input vectors with the prior's density times the surrogate's probability of the positive class.

    Returns
    -------
    ndarray, shape (count, dims)
        Ask the service about (some of) these vectors and weigh them with ``importance.weigh(probabilities of the
        service, surrogate.probability(vectors))``.

    Notes
    -----
    In the prior's standard normal coordinates the logit changes along one direction only, the slope. Along the slope,
    draws use the inverse of the distribution function on a grid; across it, the posterior equals the prior.
    """
    slope, points, log_density = _log_density_along_slope(surrogate, prior)
    direction = slope / (np.linalg.norm(slope) or 1.0)  # a slope of 0 stays 0
    density = np.exp(log_density - log_density.max())
    cumulative = np.append(0.0, np.cumsum(density[1:] + density[:-1]))  # trapezoids, up to a factor
    distances_along = np.interp(cumulative[-1] * rng.random(count), cumulative, points)
    coordinates = rng.standard_normal((count, prior.rank))
    changes_along = distances_along - coordinates @ direction  # only the coordinate along the slope is replaced
    return prior.vectors_at(coordinates + np.outer(changes_along, direction))


def log_mean_probability(surrogate: Surrogate, prior: NormalPrior) -> float:
    """Return the logarithm of the surrogate's probability of the positive class, averaged over the prior."""
    _, _, log_density = _log_density_along_slope(surrogate, prior)
    # the integral over the grid, with the factor of the normal density that `log_density` lacks
    return float(special.logsumexp(log_density) + np.log((GRID[1] - GRID[0]) / np.sqrt(2 * np.pi)))


def _log_density_along_slope(surrogate: Surrogate, prior: NormalPrior) -> tuple[Floats, Floats, Floats]:
    """Return the logit's slope in the prior's coordinates, points along it, and the posterior's log density at them."""
    from scipy.optimize import brentq  # slow to import: only drawing needs it

    slope = np.asarray(surrogate.weights @ prior.factor)
    steepness = float(np.linalg.norm(slope))
    constant = float(surrogate.weights @ prior.mean + surrogate.constant)
    # at the mode the gradients of the logit and the prior cancel; it is below `steepness`, because `expit` is below 1
    mode = brentq(lambda x: x - steepness * special.expit(-(steepness * x + constant)), 0.0, steepness, maxiter=1000)
    points = mode + GRID  # `GRID`: sds of the prior
    return slope, points, special.log_expit(steepness * points + constant) - points**2 / 2


def _validate_probabilities(probability: ArrayLike, count: int) -> Floats:
    probabilities = np.asarray(probability, dtype=float)
    if probabilities.shape != (count,):
        raise OutOfBounds(
            f"{count} probabilities are needed, one for each input, not {probabilities.shape}", "probability"
        )
    if unusable := np.count_nonzero(~np.isfinite(probabilities)):
        raise EvidenceError(f"{unusable} of {count} probabilities are not finite numbers")
    if probabilities.min() < 0 or probabilities.max() > 1:
        raise OutOfBounds(
            f"probabilities must be in [0, 1], not {probabilities.min():g} to {probabilities.max():g}", "probability"
        )
    if (probabilities == 0).all() or (probabilities == 1).all():
        raise ZeroVariance(
            f"all {count} replies have the probability {probabilities[0]:g}; a surrogate needs replies that differ"
        )
    return probabilities


def _fit_weights(inputs: Floats, probabilities: Floats, ridge: float) -> tuple[Floats, float]:
    """Minimise the penalised cross-entropy, to a gradient of `FLAT` per reply; return the weights and the constant."""
    from scipy.optimize import minimize  # slow to import: only fitting needs it

    design = np.column_stack([inputs, np.ones(len(inputs))])
    # a tiny penalty keeps the constant finite if all answers are (nearly) alike
    penalty = np.append(np.full(inputs.shape[1], ridge), 1e-6)

    def cost(parameters: Floats) -> tuple[float, Floats]:
        score = design @ parameters
        misfit = -(special.log_expit(score) - (1 - probabilities) * score).sum()  # log(1 - P) is log(P) - score
        gradient = design.T @ (special.expit(score) - probabilities) + penalty * parameters
        return float(misfit + penalty @ parameters**2 / 2), gradient

    start_parameters = np.zeros(design.shape[1])
    mean_probability = np.clip(probabilities.mean(), 1e-9, 1 - 1e-9)  # with finite log odds
    start_parameters[-1] = np.log(mean_probability / (1 - mean_probability))
    fitted = minimize(
        cost,
        start_parameters,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "gtol": FLAT * len(probabilities), "ftol": 0.0, "maxcor": 30},  # only `gtol` ends it
    )
    if np.abs(fitted.jac).max() > 1e3 * FLAT * len(probabilities):  # rounding can end a good fit above `FLAT`
        raise EvidenceError(f"the surrogate did not settle in {fitted.nit} steps; are the inputs on one scale?")
    return np.asarray(fitted.x[:-1], dtype=float), float(fitted.x[-1])
