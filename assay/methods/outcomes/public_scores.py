"""Which numbers about scores a public rating shows: thresholds of the maps, and tenths of the calibration.

Two thresholds tell how many people are between them, and so do a threshold and the end of a tenth. What is shown has
nobody or `LEAST_SHOWN` people or more in each cell: a row of a table, with one outcome and truth, between two cuts.
A table with a masked count shows neither; of the others, cuts add nothing to what is known about masked rows.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from assay.methods.outcomes.analysis import Task
from assay.methods.outcomes.detail import NO_MAP, OutcomesComponent, ThresholdMap
from assay.methods.outcomes.suppression import LEAST_SHOWN, UNKNOWN_ANSWER
from assay.methods.shared.outcome_tables.group_tables import tenths_of
from assay.model import Floats, Integers


@dataclass(frozen=True)
class PublicScores:
    """Thresholds that public maps show, and the names of the groupings whose maps, or tenths, are public."""

    thresholds: frozenset[float | None] = frozenset()
    maps: frozenset[str] = frozenset()
    tenths: frozenset[str] = frozenset()

    def map_of(self, component: OutcomesComponent) -> ThresholdMap:
        """Return the public map of a component."""
        chart = component.threshold_map
        rows = tuple(row for row in chart.thresholds if row.threshold in self.thresholds)
        return replace(chart, thresholds=rows) if rows and component.by in self.maps else NO_MAP


def public_scores(task: Task, chart: ThresholdMap, masked: Container[str]) -> PublicScores:
    """Choose what is public; `chart` has the thresholds of all maps, `masked` the groupings with a masked count."""
    scores, people = task.scores, task.table.people
    if scores is None:
        return PublicScores()
    median = next(output.facts["median"] for output in task.outputs if "median" in output.facts)
    cuts = [coded(output.favourable) for output in task.outputs if output.facts or task.threshold is not None]
    everyone = np.stack([*cuts, scores == median])
    at_median = people[scores == median].sum()
    tables, tenths = [everyone] if at_median >= LEAST_SHOWN else [], set[str]()
    cells = {}
    for grouping in task.groupings:
        codes = np.stack([grouping.codes, *cuts, *([] if task.truth is None else [coded(task.truth)])])
        if grouping.name in masked or not _is_large(_counted(codes, people)):
            continue
        cells[grouping.name] = codes
        if task.truth is not None:
            with_tenths = np.vstack([codes, tenths_of(task.table, scores).codes])
            if _is_large(_counted(with_tenths, people)):
                tenths.add(grouping.name)
                cells[grouping.name] = with_tenths
    thresholds, maps = list[float](), set[str]()
    for name, codes in cells.items():
        fewer = _thresholds([*tables, codes], scores, people, [row.threshold or 0.0 for row in chart.thresholds])
        if fewer and 2 * len(fewer) >= len(thresholds):  # a map that costs the earlier ones most thresholds is left out
            thresholds, tables = fewer, [*tables, codes]
            maps.add(name)
    return PublicScores(frozenset(thresholds), frozenset(maps), frozenset(tenths))


def _thresholds(tables: list[Integers], scores: Floats, people: Floats, thresholds: list[float]) -> list[float]:
    """Return the thresholds between which each cell of the tables has nobody or `LEAST_SHOWN` people or more."""
    is_known = ~np.isnan(scores)
    bins = np.searchsorted(thresholds, scores[is_known], side="right")
    counts = np.hstack([_by_bin(codes[:, is_known], bins, people[is_known], len(thresholds) + 1) for codes in tables])
    kept, start = list[float](), 0
    for end, threshold in enumerate(thresholds, 1):
        if _is_large(counts[start:end].sum(axis=0)) and _is_large(counts[end:].sum(axis=0)):
            kept.append(threshold)
            start = end
    return kept


def _by_bin(codes: Integers, bins: Integers, people: Floats, size: int) -> Floats:
    """Count people by bin and combination of codes, shape (bins, combinations)."""
    combinations, combination = np.unique(codes, axis=1, return_inverse=True)
    shape = (size, combinations.shape[1])
    flat_index = bins * shape[1] + combination.reshape(-1)
    return np.bincount(flat_index, people, shape[0] * shape[1]).reshape(shape).astype(float)


def _counted(codes: Integers, people: Floats) -> Floats:
    return np.bincount(np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1), people).astype(float)


def _is_large(counts: ArrayLike) -> bool:
    """Return whether each count is 0, or so large that it may be published."""
    sizes = np.asarray(counts)
    return bool(((sizes == 0) | (sizes >= LEAST_SHOWN)).all())


def coded(answers: Floats) -> Integers:
    """Return answers as codes: 0, 1, or `UNKNOWN_ANSWER`."""
    return np.nan_to_num(answers, nan=UNKNOWN_ANSWER).astype(np.int64)
