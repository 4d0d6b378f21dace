"""Rates by group: mean scores of a label and their impact ratios, base rates of records, shares of lost replies."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from assay.document import EffectDocument
from assay.errors import TooFewObservations
from assay.methods.alternation.detail import AlternationComponent, DisparateImpact, RateDocument, RatioDocument
from assay.methods.alternation.judged import JudgingTask
from assay.model import Component, Evidence, Floats, Letter
from assay.rating.component import Measurement, Tolerance
from assay.rating.losses import loss_effect, lost_replies
from assay.statistics.intervals.alternation_effects import DRAWS
from assay.statistics.intervals.credible import equal_tailed
from assay.statistics.intervals.crossed import mean_draws

INTERVAL_LEVEL = 0.95
"""Nominal coverage of the intervals of ratios."""

RATIO_DRAWS = 4_000
"""Number of posterior draws for the interval of a ratio of base rates."""


def impact_ratios(scores: Floats, task: JudgingTask, rng: np.random.Generator) -> DisparateImpact:
    """Return the mean score of a label under each value, and its ratio to the highest of these means.

    The interval of a ratio r is by the delta method: r + draws of ``mean(score_v - r*score_h) / mean(score_h)``, where
    h is the value with the highest mean score. A value whose mean score is 0 gets the reason (``why``) and no ratio.

    `scores`, shape (cases, values), are in [0, 1], as the service gave them; NaN for a missing answer.
    """
    scores, values = scores[task.complete_indices], task.answers.values
    means = scores.mean(axis=0)
    rates = tuple(RateDocument(name, len(scores), rate=float(mean)) for name, mean in zip(values, means, strict=True))
    highest_index = int(means.argmax())
    ratios: list[RatioDocument] = []
    for index, name in enumerate(values):
        if index == highest_index:
            continue
        if means[index] <= 0:
            ratios.append(RatioDocument(name, values[highest_index], why=f"no case with {name!r} got the label"))
            continue
        ratio = means[index] / means[highest_index]
        deviations = scores[:, index] - ratio * scores[:, highest_index]  # their mean is 0
        draws = mean_draws(deviations[:, None], task.clusters, rng, DRAWS, task.rules.max_draw_weights)[:, 0]
        limits = equal_tailed(ratio + draws / means[highest_index])
        effect = EffectDocument(float(ratio), max(0.0, limits.low), limits.high, INTERVAL_LEVEL)
        ratios.append(RatioDocument(name, values[highest_index], effect))
    return DisparateImpact(rates, tuple(ratios))


def refused_group(
    task: JudgingTask, measurement: Measurement[AlternationComponent], tolerance: Tolerance, rng: np.random.Generator
) -> Component | None:
    """Return a component with the letter BS if the groups' shares of lost replies alone suffice for it, else ``None``.

    The effects of the two steps stay unknown: they need profiles that were answered under every value.
    """
    answers, limit = task.answers, task.rules.delta_loss
    hidden = loss_effect(answers.by_group, limit, tolerance.confidence, rng, DRAWS)
    if not hidden or answers.unasked:  # no letter if the call budget ran out
        return None
    no_effects = np.zeros(DRAWS)  # so that only the hidden effect can exceed its limit
    component = measurement.conclude(
        Evidence(no_effects, no_effects, hidden=hidden),
        lambda _: (),  # the hidden effect adds the reason
        dict.fromkeys(("step_1", "step_2")),  # no interval of either effect
        lost=lost_replies(answers.by_group, limit, step_1=0.0, step_2=0.0),
    )
    return component if component.declared and component.letter is Letter.BS else None


def disparate_impact(
    positive: ArrayLike, groups: ArrayLike, values: Sequence[str], rng: np.random.Generator
) -> DisparateImpact:
    """Return the base rates of groups of records, and the ratio of every ordered pair or the reason why it is missing.

    Parameters
    ----------
    positive : array_like of bool, shape (n,)
        Whether a record's output is the positive one.
    groups : array_like of int, shape (n,)
        Index in `values` of each record's group.
    rng : Generator
        Draws base rates from their posteriors under Jeffreys' prior, independent of each other.

    Raises
    ------
    TooFewObservations
        If fewer than two groups have records, or no record is positive.
    """
    is_positive, group_indices = np.asarray(positive, dtype=bool), np.asarray(groups)
    rates = []
    for index, name in enumerate(values):
        in_group = group_indices == index
        rates.append(RateDocument(name, int(in_group.sum()), int(is_positive[in_group].sum())))
    present_values = [rate.value for rate in rates if rate.records]
    if len(present_values) < 2:
        raise TooFewObservations(f"base rates of two groups are needed; records are of {present_values or 'none'} only")
    if not is_positive.any():
        raise TooFewObservations(
            f"none of {is_positive.size} records has the positive output; a ratio of base rates needs one at least"
        )
    counts = [(rate.records or 0, rate.positives or 0) for rate in rates]
    draws_by_group = [
        rng.beta(positives + 0.5, records - positives + 0.5, RATIO_DRAWS) for records, positives in counts
    ]
    ratios = []
    pairs = permutations(zip(values, counts, draws_by_group, strict=True), 2)
    for (group, (records, positives), draws), (other, (other_records, other_positives), other_draws) in pairs:
        if not records or not other_records:
            ratios.append(RatioDocument(group, other, why=f"no record is of {(other if records else group)!r}"))
        elif not other_positives:
            reason = f"none of {other_records} records of {other!r} has the positive output"
            ratios.append(RatioDocument(group, other, why=reason))
        else:
            estimate = (positives / records) / (other_positives / other_records)
            limits = equal_tailed(draws / other_draws)
            # if none or all are positive, the estimate lies outside the posterior's limits
            effect = EffectDocument(estimate, min(limits.low, estimate), max(limits.high, estimate), INTERVAL_LEVEL)
            ratios.append(RatioDocument(group, other, effect))
    return DisparateImpact(tuple(rates), tuple(ratios))
