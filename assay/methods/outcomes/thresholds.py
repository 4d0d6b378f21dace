"""Threshold map: selected people, impact ratio and gaps of error rates at many possible thresholds of a score."""

from dataclasses import replace

import numpy as np

from assay.document import EffectDocument
from assay.experiment import generator
from assay.methods.outcomes.detail import ThresholdDocument, ThresholdGroup, ThresholdMap
from assay.methods.outcomes.task import LEAST_PEOPLE
from assay.methods.shared.outcome_tables.decision_table import MOST_CELLS, SCORE_CLASSES, DecisionTable, Grouping
from assay.methods.shared.outcome_tables.effects import Sample, fitted_rates
from assay.methods.shared.outcome_tables.group_tables import NO_RATIO, drawn_interval, largest_gap, sample_of
from assay.model import Floats

STEPS, COARSE_STEPS = 50, 20
"""Number of intervals between the quantiles of scores used as thresholds: usually, and if scores are in few classes."""

DRAWS = 1000


def threshold_map(
    table: DecisionTable, grouping: Grouping, scores: Floats, truth: Floats | None, service_threshold: float | None
) -> ThresholdMap:
    """Compare the groups at each threshold; scores at or above the threshold are favourable.

    Parameters
    ----------
    grouping : Grouping
        The groups to compare; people of other groups have a negative code.
    scores, truth : ndarray, shape (cells,)
        Score and true outcome of each cell, as in `group_tables.Outcomes`.
    service_threshold : float, optional
        The threshold of the service, at which the groups are compared as well.

    Notes
    -----
    The intervals are valid for a threshold that was fixed before anybody saw the map. The seed of their draws is fixed,
    so that readers can draw the same numbers from the published counts.
    """
    selections = {"total": (grouping.codes >= 0) & ~np.isnan(scores)}
    if truth is not None:  # people for whom a favourable decision is right, and wrong
        selections["right"] = selections["total"] & (truth == 1)
        selections["wrong"] = selections["total"] & (truth == 0)
    rows = []
    for threshold in _score_thresholds(table, scores, service_threshold):
        is_selected = np.where(np.isnan(scores), np.nan, scores >= threshold)
        samples = {
            name: sample_of(table, grouping, is_selected, cells, binary=True) for name, cells in selections.items()
        }
        row = ThresholdDocument(threshold, tuple(samples["total"].sums.tolist()), ratio=_rate_ratio(samples["total"]))
        if truth is not None:
            tpr_gap, fpr_gap = (
                largest_gap(samples[name], generator(0), LEAST_PEOPLE, DRAWS) for name in ("right", "wrong")
            )
            right, wrong = (tuple(samples[name].sums.tolist()) for name in ("right", "wrong"))
            row = replace(row, right=right, wrong=wrong, tpr_gap=tpr_gap, fpr_gap=fpr_gap)
        rows.append(row)
    groups = [
        ThresholdGroup(label, **{name: float(sample.totals[index]) for name, sample in samples.items()})
        for index, label in enumerate(grouping.labels)
    ]
    return ThresholdMap(service_threshold, tuple(groups), tuple(rows))


def _score_thresholds(table: DecisionTable, scores: Floats, service_threshold: float | None) -> list[float]:
    """Return the thresholds to show: quantiles of the scores, where counts are exact, and the service's threshold."""
    is_known = ~np.isnan(scores)
    distinct, distinct_index = np.unique(scores[is_known], return_inverse=True)
    people_up_to = np.cumsum(np.bincount(distinct_index.reshape(-1), table.people[is_known]))  # each distinct score
    # scores of a large table may be rounded to n = `SCORE_CLASSES[-2]` quantile classes: at most about 4 n numbers (the
    # ends of classes and numbers between them), and a few for the service's threshold
    may_be_coarse = table.rows > MOST_CELLS and len(distinct) <= 4 * SCORE_CLASSES[-2] + 10
    steps = COARSE_STEPS if may_be_coarse else STEPS
    ranks = np.floor(np.arange(1, steps) / steps * (people_up_to[-1] - 1))
    quantiles = distinct[np.searchsorted(people_up_to, ranks, side="right")]
    return sorted({*map(float, quantiles), *([] if service_threshold is None else [float(service_threshold)])})


def _rate_ratio(sample: Sample) -> EffectDocument:
    """Return the lowest rate of a group divided by the highest, with an interval; `NO_RATIO` if all rates are 0."""
    codes = np.flatnonzero(sample.totals > 0)
    low, high = (int(codes[choose(sample.means[codes])]) for choose in (np.argmin, np.argmax))
    highest = float(sample.means[high])
    if highest == 0:
        return NO_RATIO
    draws = sample.draw_means(generator(0), DRAWS)
    joint_draws = draws.copy()  # fitted jointly, as the lowest and highest of many rates are too extreme
    joint_draws[:, codes] = fitted_rates(draws[:, codes], generator(0))
    ratios = [rates[:, low] / np.maximum(rates[:, high], 1e-300) for rates in (draws, joint_draws)]  # never / 0
    return drawn_interval(float(sample.means[low]) / highest, *ratios)
