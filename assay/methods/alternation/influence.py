"""Leverage of single clusters: the effect of alternation without each person, frame or content.

With a widely used sentiment lexicon, the whole effect of gender came from one name that is also a word
(docs/methods/alternation.md). So a rating states whether an effect depends on one person.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.document import NO_ENTRIES
from assay.methods.alternation.detail import Carrier, WithoutDocument
from assay.methods.alternation.detail import Leverage as LeverageDocument
from assay.methods.shared.profiles import JOINED, Case
from assay.model import Floats, Integers
from assay.statistics.intervals.alternation_effects import Profiles, without_each

CARRIED_BY_ONE = 0.5
"""A cluster with more than this share of its kind's summed absolute contributions is named as the effect's carrier."""

MIN_CLUSTERS = 10
"""Minimum number of clusters of a kind to attribute the effect to one of them."""

LISTED = 5
"""Maximum number of clusters of a kind in the table of leverage."""


@dataclass(frozen=True)
class Leverage:
    """Influence of each cluster, such as a person, on a mean difference; `cases` are in the order of `profiles`."""

    profiles: Profiles
    cases: Sequence[Case]
    pair: tuple[str, str]

    @property
    def effect(self) -> float:
        """Mean output under the second value of `pair` minus that under the first, in standard deviations."""
        return float(self._pair_differences.mean())

    def document(self) -> LeverageDocument:
        """Return each kind's most influential clusters (persons, frames …), and the one that carries the effect."""
        by_kind = {kind: self._most_influential(kind) for kind in self.profiles.clusters}
        # kinds with a field in `LeverageDocument`; any other kind is a column that the request names
        usual_kinds = {kind: by_kind.pop(kind) for kind in ("person", "frame", "content", "row") if kind in by_kind}
        carrier = self.carrier()
        return LeverageDocument(self.pair, self.effect, **usual_kinds, others=by_kind or NO_ENTRIES, carrier=carrier)

    def _most_influential(self, kind: str) -> tuple[WithoutDocument, ...]:
        """Return the clusters of a kind (such as persons) without which the effect changes most, with that effect."""
        effects_without, effect = without_each(self.profiles, kind, self.pair), self.effect
        clusters = sorted(effects_without, key=lambda cluster: -abs(effects_without[cluster] - effect))[:LISTED]
        names = self._cluster_names(kind)
        return tuple(WithoutDocument(names[cluster], effects_without[cluster]) for cluster in clusters)

    def carrier(self) -> Carrier | None:
        """Return the first cluster (a person, a frame …) with more than half of its kind's summed effects, if any."""
        for kind, ids in self.profiles.clusters.items():  # the first kind is the person, if there are people
            cluster_sums = np.bincount(ids, weights=self._pair_differences)
            total = float(np.abs(cluster_sums).sum())
            if len(cluster_sums) < MIN_CLUSTERS or not total:
                continue
            largest_cluster = int(np.abs(cluster_sums).argmax())
            share = abs(float(cluster_sums[largest_cluster])) / total
            if share > CARRIED_BY_ONE:
                without = without_each(self.profiles, kind, self.pair)[largest_cluster]
                return Carrier(
                    kind=kind,
                    name=self._cluster_names(kind)[largest_cluster],
                    member=self._deviating_member(kind, ids == largest_cluster),
                    share=share,
                    effect=self.effect,
                    without=round(without, 9) + 0.0,  # a sum that cancels becomes 0 instead of -1e-17 or -0.0
                )
        return None

    @property
    def _pair_columns(self) -> tuple[int, int]:
        first, second = (self.profiles.values.index(name) for name in self.pair)
        return first, second

    @property
    def _pair_differences(self) -> Floats:
        first, second = self._pair_columns
        return np.asarray((self.profiles.outputs[:, second] - self.profiles.outputs[:, first]) / self.profiles.scale)

    def _cluster_names(self, kind: str) -> list[str]:
        """Return the names of the clusters of a kind; clusters are numbered in the order of their names."""
        return sorted({case.clusters[kind] for case in self.cases})

    def _deviating_member(self, kind: str, in_cluster: NDArray[np.bool_]) -> str | None:
        """Return that person of a cluster (one for each value) whose outputs deviate more; ``None`` if none does."""
        a, b = self._pair_columns  # indices of the two values
        names = self.cases[int(in_cluster.argmax())].clusters[kind].split(JOINED)  # equal in all cases of the cluster
        if len(names) != len(self.profiles.values):  # the cluster has one name for all values
            return None
        distance_a, distance_b = (self._cluster_distance(kind, in_cluster, value) for value in (a, b))
        if distance_a == distance_b:
            return None
        return names[b if distance_b > distance_a else a]

    def _cluster_distance(self, kind: str, in_cluster: NDArray[np.bool_], value: int) -> float:
        """Return how far a cluster's mean output under a value (index) is from that predicted from other clusters."""
        outputs = self.profiles.outputs[:, value]
        residuals = outputs - outputs[~in_cluster].mean()
        for other_kind, ids in self.profiles.clusters.items():
            if other_kind != kind:
                residuals = residuals - _cluster_means(residuals, ids, ~in_cluster)[ids]
        return abs(float(residuals[in_cluster].mean()))


def _cluster_means(values: Floats, ids: Integers, is_included: NDArray[np.bool_]) -> Floats:
    """Return the mean of each cluster over its `is_included` rows, shape (clusters,); 0 if it has none."""
    count = int(ids.max()) + 1
    sums = np.bincount(ids[is_included], weights=values[is_included], minlength=count)
    return np.asarray(sums / np.maximum(np.bincount(ids[is_included], minlength=count), 1))
