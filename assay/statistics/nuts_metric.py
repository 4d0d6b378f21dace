"""The metric of the No-U-Turn Sampler: how long a step is in each direction.

The better it knows how wide a target is, and which dimensions go together, the rounder the target looks to
trajectories, and the fewer steps they need. It is learnt from draws and from the gradients at them, which say
more than the draws alone: of a normal target everything, as soon as there are more draws than dimensions.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS_A_DIMENSION = 2
"""Draws for each dimension from which directions are learnt; before, only the scale of each dimension."""

MOST_DIMENSIONS = 256
"""Dimensions up to which they are learnt: a step costs their square."""

SHRINKAGE = 0.1
"""Draws that dimensions which do not go together are worth, beside those that were seen."""


class Metric(Protocol):
    """An inverse mass, which should be near the covariance of the target."""

    @property
    def variance(self) -> Floats:
        """Of each dimension, shape (dims,)."""
        ...

    def velocity(self, momentum: Floats) -> Floats:
        """Turn momenta into velocities; both of shape (..., dims)."""
        ...

    def momentum(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw momenta, of shape (..., dims)."""
        ...


class Scales:
    """A metric that knows the scale of each dimension.

    Parameters
    ----------
    variance : ndarray, shape (dims,)
        Squares of the scales.
    """

    def __init__(self, variance: Floats) -> None:
        self.variance = variance
        self._root = np.sqrt(variance)

    def velocity(self, momentum: Floats) -> Floats:
        """Scale momenta."""
        return np.asarray(momentum * self.variance)

    def momentum(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw momenta."""
        return np.asarray(rng.standard_normal(shape) / self._root)


class Directions:
    """A metric that also knows which dimensions go together.

    Parameters
    ----------
    covariance : ndarray, shape (dims, dims)
        Symmetric and positive definite.
    """

    def __init__(self, covariance: Floats) -> None:
        self.variance = np.diagonal(covariance).copy()
        self._covariance = covariance
        self._turned = np.linalg.inv(np.linalg.cholesky(covariance))

    def velocity(self, momentum: Floats) -> Floats:
        """Turn and scale momenta."""
        together = momentum.reshape(-1, momentum.shape[-1]) @ self._covariance
        return np.asarray(together.reshape(momentum.shape))

    def momentum(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw momenta: their covariance is the inverse of the metric's."""
        return np.asarray(rng.standard_normal(shape) @ self._turned)


def learnt(positions: Floats, gradients: Floats) -> Metric:
    """Estimate the metric from draws of all chains and the gradients there.

    Parameters
    ----------
    positions, gradients : ndarray, shape (draws, dims)
        Draws, and gradients of the log density at them.

    Returns
    -------
    Metric
        Of all metrics that under which the target is nearest to a standard normal one, by the Fisher divergence:
        the geometric mean of the draws' covariance and the inverse of the gradients' (Seyboldt et al. 2026).
        With few draws for the number of dimensions, or many dimensions, that of all diagonal ones.
    """
    draws, dims = positions.shape
    variance = scales(positions, gradients)
    if not 1 < dims <= MOST_DIMENSIONS or draws < DRAWS_A_DIMENSION * dims:
        return Scales(variance)
    root = np.sqrt(variance)
    shrunk = [_shrunk(positions / root), _shrunk(gradients * root)]
    if not all(np.isfinite(one).all() for one in shrunk):
        return Scales(variance)
    # in units of the scales numbers are near one, and what was not seen to go together stays apart
    covariance = _geometric_mean(*shrunk) * np.outer(root, root)
    return Directions(covariance)


def scales(positions: Floats, gradients: Floats) -> Floats:
    """Estimate the variance of each dimension from draws of all chains and the gradients there.

    Parameters
    ----------
    positions, gradients : ndarray, shape (draws, dims)
        Draws, and gradients of the log density at them.

    Returns
    -------
    ndarray, shape (dims,)
        ``sd(positions) / sd(gradients)``: of all diagonal scales that under which the target is nearest to a
        standard normal one, by the Fisher divergence. If the dimensions are independent and normal it is
        exact from two draws on, because the gradients then say what the variance is.
    """
    ratio = positions.std(axis=0) / np.maximum(gradients.std(axis=0), np.finfo(float).tiny)
    usable = np.isfinite(ratio) & (ratio > 0)
    return np.where(usable, np.clip(ratio, 1e-20, 1e20), 1.0)


def _shrunk(values: Floats) -> Floats:
    """Give the covariance of draws, shape (dims, dims), drawn a little towards dimensions that do not go together."""
    away = values - values.mean(axis=0)
    count = len(values)
    return np.asarray((away.T @ away + SHRINKAGE * np.eye(values.shape[1])) / (count + SHRINKAGE))


def _geometric_mean(positions: Floats, gradients: Floats) -> Floats:
    """Find the S with ``S G S = P``, for the covariances P of draws and G of gradients."""
    root, inverse = _powers(gradients, 0.5, -0.5)
    (middle,) = _powers(root @ positions @ root, 0.5)
    found = inverse @ middle @ inverse
    return np.asarray((found + found.T) / 2)


def _powers(matrix: Floats, *exponents: float) -> list[Floats]:
    """Raise a symmetric positive matrix to powers."""
    sizes, axes = np.linalg.eigh(matrix)
    kept = np.maximum(sizes, np.finfo(float).eps * sizes[-1])
    return [np.asarray((axes * kept**one) @ axes.T) for one in exponents]
