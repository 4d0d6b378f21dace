"""Posterior predictive check of the hierarchy (Dobrzeniecka & Urbaniak, section 4.2).

The prediction for a protected word and a connection is a new distance, ``y ~ N(beta, sigma)``, with ``beta`` and
``sigma`` drawn from their posterior. The check counts the observed distances inside the predicted intervals.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from assay.methods.association.detail import DensityDocument, Predictive
from assay.model import Floats
from assay.statistics.bayes.hierarchy import ConnectionDraws, Posterior, checked_columns
from assay.statistics.intervals.credible import IntervalEnds, hpdi
from assay.statistics.special import special

MASS_50, MASS_89 = 0.5, 0.89
"""Probability masses of the intervals that Dobrzeniecka & Urbaniak print, and of the check's predictive intervals."""

GRID_POINTS = 81
"""Number of points at which a density is computed: enough for a smooth line in a figure."""

DENSITY_DRAWS = 100
"""Approximate number of draws averaged for a predicted density; more would not visibly change the figure."""

GOLDEN = (math.sqrt(5) - 1) / 2
"""Inverse golden ratio; its multiples, modulo 1, fill the unit interval evenly (Weyl)."""


def predictive_check(
    posterior: Posterior, distance: ArrayLike, connection: ArrayLike, protected: ArrayLike
) -> Predictive:
    """Compare cosine distances with the prediction for their protected word and connection (kind of attribute word).

    Parameters
    ----------
    posterior : Posterior
        Fitted to these distances, or to other distances of the same words.

    Raises
    ------
    TooFewObservations
        If there are no rows, or the posterior has no such connection or word.
    EvidenceError
        If a distance is not a finite number.
    OutOfBounds
        If a distance is outside [0, 2], or the columns differ in length.
    """
    distances = _group_distances(distance, connection, protected)
    for name in distances:
        posterior.draws_of(name)  # called only for its error if the connection was not fitted
    y = np.concatenate([values for by_word in distances.values() for values in by_word.values()])  # all distances
    # three kernel widths beyond the data, the density is close to 0
    margin = 3 * max(_kernel_width(posterior.draws_of(name), by_word) for name, by_word in distances.items())
    grid = np.linspace(y.min() - margin, y.max() + margin, GRID_POINTS)
    names = [name for name in posterior.connections if name in distances]
    checks = tuple(_check_density(posterior, name, distances[name], grid) for name in names)
    share_50, share_89 = (
        sum(getattr(check, share) * check.rows for check in checks) / y.size for share in ("share_50", "share_89")
    )
    return Predictive(share_50, share_89, grid=_round_density(grid), connections=checks)


def _check_density(posterior: Posterior, name: str, by_word: Mapping[str, Floats], grid: Floats) -> DensityDocument:
    """Return a connection's observed and predicted density, and shares of its distances (`by_word`) in intervals."""
    connection_draws = posterior.draws_of(name)
    y = np.concatenate(list(by_word.values()))  # all distances of the connection
    mean_draws = {word: posterior.cell(name, word) for word in by_word}
    counts = [_count_predicted(mean_draws[word], connection_draws.sigma, values) for word, values in by_word.items()]
    share_50, share_89 = (np.sum(counts, axis=0) / y.size).tolist()
    smoothing = _kernel_width(connection_draws, by_word)
    stride = max(1, posterior.draws // DENSITY_DRAWS)  # a part of the draws is enough for a density
    spread = np.hypot(connection_draws.sigma[::stride], smoothing)  # predictions are smoothed like observed distances
    densities = [
        _density(grid, mean_draws[word][::stride], spread) * (values.size / y.size) for word, values in by_word.items()
    ]
    observed, predicted = _density(grid, y, np.full(y.size, smoothing)), np.sum(densities, axis=0)
    return DensityDocument(name, y.size, share_50, share_89, _round_density(observed), _round_density(predicted))


def _count_predicted(means: Floats, sigmas: Floats, distances: Floats) -> tuple[int, int]:
    """Count a word's distances within its 50 % and 89 % predictive intervals, from draws of its mean and its spread."""
    # draws are independent: evenly spread quantiles (multiples of the golden ratio) replace random, noisy ones
    predicted_values = means + sigmas * special.ndtri((np.arange(means.size) + 0.5) * GOLDEN % 1)
    limits_50, limits_89 = (hpdi(predicted_values, mass) for mass in (MASS_50, MASS_89))
    return _count_within(limits_50, distances), _count_within(limits_89, distances)


def _count_within(limits: IntervalEnds, distances: Floats) -> int:
    return int(np.count_nonzero((limits.low <= distances) & (distances <= limits.high)))


def _kernel_width(connection_draws: ConnectionDraws, by_word: Mapping[str, Floats]) -> float:
    """Return the kernel width of the observed and predicted density: Silverman's rule with the residual sd."""
    return float(0.9 * connection_draws.sigma.mean() * sum(values.size for values in by_word.values()) ** -0.2)


def _density(grid: Floats, centres: Floats, spreads: Floats) -> Floats:
    """Return the density of an equal mixture of normal distributions at each point of `grid`."""
    z = (grid[:, None] - centres) / spreads
    return np.asarray((np.exp(-0.5 * z**2) / spreads).mean(axis=1) / math.sqrt(2 * math.pi), dtype=float)


def _group_distances(distance: ArrayLike, connection: ArrayLike, protected: ArrayLike) -> dict[str, dict[str, Floats]]:
    """Group distances by connection (kind of attribute word), and within it by protected word."""
    rows: dict[str, dict[str, list[float]]] = {}
    for value, name, word in zip(*checked_columns(distance, connection, protected), strict=True):
        rows.setdefault(name, {}).setdefault(word, []).append(value)
    return {name: {word: np.array(values) for word, values in by_word.items()} for name, by_word in rows.items()}


def _round_density(values: Floats) -> tuple[float, ...]:
    """Round the values of a density to five decimals, more than a figure shows."""
    return tuple(round(value, 5) for value in values.tolist())
