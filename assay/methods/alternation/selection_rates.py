"""Shares of a model's decisions that are one label, by group, and their impact ratios."""

from __future__ import annotations

import numpy as np

from assay.document import EffectDocument
from assay.methods.alternation.detail import DisparateImpact, RateDocument, RatioDocument
from assay.methods.alternation.judged import Judged
from assay.model import Floats
from assay.statistics.intervals.alternation_effects import DRAWS, Profiles
from assay.statistics.intervals.credible import equal_tailed

LEVEL = 0.95
"""Level of the intervals."""


def impact_ratios(scores: Floats, task: Judged, rng: np.random.Generator) -> DisparateImpact:
    """Return the mean score of a label under each value, and its ratio to the highest of these means.

    The interval of a ratio r is that of the mean of ``score - r * score under the highest value`` over the same cases,
    divided by the highest mean (the delta method). A value without any share of the label has no ratio.

    Parameters
    ----------
    scores : ndarray, shape (cases, values)
        Scores of the label, in [0, 1], as the service gave them; NaN for a missing answer.
    """
    scores, values = scores[task.whole], task.answers.values
    profiles = Profiles(scores, values, task.clusters, task.rules.most_weights)
    means = scores.mean(axis=0)
    rates = tuple(RateDocument(name, len(scores), rate=float(mean)) for name, mean in zip(values, means, strict=True))
    highest = int(means.argmax())
    ratios: list[RatioDocument] = []
    for index, name in enumerate(values):
        if index == highest:
            continue
        if means[index] <= 0:
            ratios.append(RatioDocument(name, values[highest], why=f"no case with {name!r} got the label"))
            continue
        ratio = means[index] / means[highest]
        samples = profiles.draws((scores[:, index] - ratio * scores[:, highest])[:, None], rng, DRAWS)[:, 0]
        limits = equal_tailed(ratio + samples / means[highest])
        effect = EffectDocument(float(ratio), max(0.0, limits.low), limits.high, LEVEL)
        ratios.append(RatioDocument(name, values[highest], effect))
    return DisparateImpact(rates, tuple(ratios))
