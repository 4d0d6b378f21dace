"""Draws of the two effects of alternation, resampled by people, frames and contents.

A profile is a person in a frame with a content; it is asked with each value of the attribute. Profiles
that share a name, a frame or a content are not independent (in one measurement a single name caused the whole
effect), so means are drawn over crossed clusters (docs/methods/alternation.md; `assay.statistics.intervals.crossed`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.errors import TooFewObservations, ZeroVariance
from assay.model import Floats, Integers
from assay.statistics.intervals.both_sides import shared_sums
from assay.statistics.intervals.crossed import LEAST_CLUSTERS, cluster_sums, mean_draws

DRAWS = 4000


@dataclass(frozen=True)
class Profiles:
    """Outputs of profiles (a person, a frame and a content), each asked about with every value of the attribute."""

    outputs: Floats
    """Output of the service for each profile and value; shape (profiles, values)."""
    values: tuple[str, ...]
    """Names of the values."""
    clusters: Mapping[str, Integers]
    """For each kind (person, frame, content), the cluster of each profile; shape (profiles,)."""
    max_draw_weights: int | None = None
    """Maximum number of random weights that `mean_draws` draws for a kind of cluster; ``None``: no maximum."""
    unit: float | None = None
    """Unit of the effects; ``None``: the standard deviation of the outputs, which is drawn together with the means."""

    def draw_means(self, columns: Floats, rng: np.random.Generator, draws: int) -> Floats:
        """Draw the means of `columns`, which have a row for each profile, by resampling its clusters (`mean_draws`)."""
        return mean_draws(columns, self.clusters, rng, draws, self.max_draw_weights)

    @property
    def scale(self) -> float:
        """Unit of the effects: `unit`, else the sd of all outputs; raise `ZeroVariance` if every output is the same."""
        if self.outputs.min() == self.outputs.max():  # rounding could give equal numbers a standard deviation above 0
            raise ZeroVariance(f"all {self.outputs.size} outputs are {self.outputs.flat[0]:.6g}; effects have no unit")
        return float(self.outputs.std()) if self.unit is None else self.unit


def pair_differences(outputs: Floats) -> Floats:
    """Return the second less the first of every two values; shape (n, pairs, ...) from outputs of (n, values, ...).

    The order of the pairs is that of `itertools.combinations`.
    """
    first_values, second_values = np.triu_indices(outputs.shape[1], k=1)
    # the layout in memory determines the rounding of later sums
    return np.ascontiguousarray(outputs[:, second_values] - outputs[:, first_values])


def paired_draws(profiles: Profiles, rng: np.random.Generator, draws: int = DRAWS) -> dict[tuple[str, str], Floats]:
    """Draw the mean difference between a profile's outputs for every two values, in units of the outputs' sd.

    A profile is asked with each value. Draws of a pair ``(a, b)``, in the values' order, are of mean(b) - mean(a).
    """
    samples = _draw_in_sds(pair_differences(profiles.outputs), profiles, rng, draws)
    return dict(zip(combinations(profiles.values, 2), samples.T, strict=True))


def tied_draws(
    profiles: Profiles, sides: Sequence[int], tie: float, rng: np.random.Generator, draws: int = DRAWS
) -> Floats:
    """Draw the gap between two groups, in sds, if one gets more of one side of the content, such as pleasant words.

    The gaps, shape (draws, pairs), are signed. No further calls are needed: a group's mean is that of the answers with
    its value, weighted so that the sides of the content have the shares `tie` and ``1 - tie`` in this mean.

    Parameters
    ----------
    sides : sequence of int, shape (profiles,)
        Side of each profile's content (such as pleasant or unpleasant words), 0 or 1.
    tie : float
        Share of the first side in the content of one group; the first side's share in the other group is ``1 - tie``.

    Raises
    ------
    TooFewObservations
        If the contents do not form two sides.

    Notes
    -----
    Content is tied to each pair in both directions, and the gap is the mean of the two: ``(2 tie - 1)`` times the
    difference between the sides. The effect of the attribute itself has opposite signs in the two and cancels; it
    belongs to step 1. People and frames that occur on both sides have the same effect on both. These effects are
    removed first; otherwise they would increase the uncertainty of the gap (measured: an sd of .073 instead of .007).
    """
    side_ids = np.asarray(sides)
    sizes = np.bincount(side_ids, minlength=2)
    if len(sizes) != 2 or (sizes == 0).any():
        raise TooFewObservations("content can only be tied to the attribute where there are two sides of it")
    shared_effects = shared_sums(profiles.outputs.mean(axis=1), side_ids, np.ones(len(side_ids)), profiles.clusters)
    outputs = profiles.outputs - shared_effects[:, None]
    # with these weights, the mean over all profiles is the mean of side 0 less that of side 1
    side_weights = np.where(side_ids == 0, 1.0, -1.0) * len(side_ids) / sizes[side_ids]
    pairs = list(combinations(range(len(profiles.values)), 2))
    means = np.stack([outputs[:, [a, b]].mean(axis=1) for a, b in pairs], axis=1)
    contrast = (2 * tie - 1) * side_weights[:, None] * means
    # the difference between the sides is declared, not sampled, so only the variation within a side is resampled
    within_side = contrast - (cluster_sums(contrast, side_ids) / sizes[:, None])[side_ids]
    return _draw_in_sds(within_side, profiles, rng, draws, offset=contrast.mean(axis=0))


def _draw_in_sds(
    values: Floats, profiles: Profiles, rng: np.random.Generator, draws: int, offset: Floats | float = 0.0
) -> Floats:
    """Draw column means plus `offset`, in units of the jointly drawn standard deviation of the outputs.

    The unit is drawn too, because it is estimated from the same profiles: if it were taken as known, a shift
    that is equal in every profile would have no uncertainty.
    """
    if profiles.unit is not None:
        return np.asarray((offset + profiles.draw_means(values, rng, draws)) / profiles.unit)
    samples = profiles.draw_means(np.column_stack([values, _squared_deviations(profiles)]), rng, draws)
    return np.asarray((offset + samples[:, :-1]) / _units_of(samples[:, -1], profiles)[:, None])


def _squared_deviations(profiles: Profiles) -> Floats:
    return np.asarray(((profiles.outputs - profiles.outputs.mean()) ** 2).mean(axis=1))


def _units_of(drawn_variances: Floats, profiles: Profiles) -> Floats:
    """Return the unit of each draw: the square root of its variance, scaled so that effects keep their mean.

    Variances below a tenth of the estimate are raised to a tenth; they occur only with a handful of profiles.
    """
    sds = np.sqrt(np.maximum(drawn_variances, profiles.scale**2 / 10))
    # effects are divided by the unit, so it is the mean of 1 / unit that must be 1 / scale
    return np.asarray(sds * profiles.scale * np.mean(1 / sds))


def group_draws(profiles: Profiles, groups: Integers, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Draw the signed gaps between mean outputs of groups of records, in the outputs' sds; shape (draws, pairs).

    Groups with fewer than `LEAST_CLUSTERS` records or clusters are left out, because their spread is unknown.

    Parameters
    ----------
    groups : ndarray of int, shape (profiles,)
        Index of the value that each record had; at least two different values.

    Raises
    ------
    TooFewObservations
        If fewer than two groups are large enough.
    """
    own_outputs = profiles.outputs[np.arange(len(groups)), groups]  # with the value that each record had
    units = _units_of(profiles.draw_means(_squared_deviations(profiles)[:, None], rng, draws)[:, 0], profiles)
    means = []
    for group in np.unique(groups):
        in_group = groups == group
        clusters = {kind: ids[in_group] for kind, ids in profiles.clusters.items()}
        try:
            group_column = own_outputs[in_group][:, None]
            means.append(mean_draws(group_column, clusters, rng, draws, profiles.max_draw_weights)[:, 0])
        except TooFewObservations:
            continue
    if len(means) < 2:
        raise TooFewObservations(f"{len(means)} groups have {LEAST_CLUSTERS} records or more; a gap needs two")
    return np.stack([(b - a) / units for a, b in combinations(means, 2)], axis=1)


def without_each(profiles: Profiles, kind: str, pair: tuple[str, str]) -> dict[int, float]:
    """Return a pair's effect without each cluster of `kind` (such as a person) in turn, by the cluster's number.

    The effect is the mean difference of the remaining profiles, if there are any, in units of all outputs' sd.
    """
    a, b = (profiles.values.index(name) for name in pair)
    differences = (profiles.outputs[:, b] - profiles.outputs[:, a]) / profiles.scale
    ids = profiles.clusters[kind]
    total, count = float(differences.sum()), len(differences)
    sums = np.bincount(ids, weights=differences)
    sizes = np.bincount(ids)
    return {
        cluster: float((total - sums[cluster]) / (count - sizes[cluster]))
        for cluster in range(len(sizes))
        if 0 < sizes[cluster] < count
    }
