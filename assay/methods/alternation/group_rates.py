"""Rates by group: shares of decisions with one label and their impact ratios, and shares of lost replies."""

from __future__ import annotations

import numpy as np

from assay.document import EffectDocument
from assay.methods.alternation.detail import AlternationComponent, DisparateImpact, RateDocument, RatioDocument
from assay.methods.alternation.judged import Judged
from assay.model import Component, Evidence, Floats, Letter
from assay.rating.component import Measurement, Tolerance
from assay.rating.losses import loss_effect, lost_replies
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


def refused_group(
    task: Judged, measurement: Measurement[AlternationComponent], tolerance: Tolerance, rng: np.random.Generator
) -> Component | None:
    """Return the component with the letter BS if the groups' shares of lost replies alone declare it, else ``None``.

    The effects of the two steps stay unknown: they need profiles that were answered under every value.
    """
    answers, limit = task.answers, task.rules.delta_loss
    hidden = loss_effect(answers.by_group, limit, tolerance.confidence, rng, DRAWS)
    if not hidden or answers.unasked:
        return None
    nothing = np.zeros(DRAWS)
    component = measurement.conclude(
        Evidence(nothing, nothing, hidden=hidden),
        lambda _: (),
        dict.fromkeys(("step_1", "step_2")),
        lost=lost_replies(answers.by_group, limit, 0.0, 0.0),
    )
    return component if component.declared and component.letter is Letter.BS else None
