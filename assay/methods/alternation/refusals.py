"""Letter of a service that answers about one group and refuses the other, so that few profiles are comparable."""

from __future__ import annotations

import numpy as np

from assay.methods.alternation.detail import AlternationComponent
from assay.methods.alternation.judged import Judged
from assay.model import Component, Evidence, Letter
from assay.rating.component import Measurement, Tolerance
from assay.rating.losses import loss_effect, lost_replies
from assay.statistics.intervals.alternation_effects import DRAWS


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
