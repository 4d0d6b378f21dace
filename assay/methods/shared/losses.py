"""What lost replies can do to a letter: whether one group was refused more often, and the worst case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from assay.methods.shared.answer_tally import Tally
from assay.model import HiddenEffect
from assay.rating.component import NOTHING_LOST, Lost, Tolerance
from assay.statistics.hidden.losses import LostOfGroup, loss_difference
from assay.statistics.intervals.credible import effect_interval


def lost_replies(
    tally: Tally,
    limit: float | None,
    tolerance: Tolerance,
    rng: np.random.Generator,
    *,
    step_1: float = 0.0,
    step_2: float = 0.0,
) -> Lost:
    """Count the lost replies by group, and say what they could change.

    Parameters
    ----------
    limit : float, optional
        Largest difference between groups in the share of lost replies that counts as none; ``None``: nothing is looked
        at, as before methodology 1.3.0.
    step_1, step_2 : float
        How much the effects could differ if the lost replies had come, at most.
    """
    if limit is None:
        return NOTHING_LOST
    groups = {
        name: LostOfGroup(counts.total(), counts["refused"], counts["failed"])
        for name, counts in tally.by_group.items()
    }
    most = max(groups, key=lambda name: groups[name].share, default=None)
    least = min(groups, key=lambda name: groups[name].share, default=None)
    facts: dict[str, Any] = {"lost": tally.failed_why.total() + tally.unusable_why.total()}
    if most is not None and least is not None:
        facts |= {"most": most, "share": groups[most].share, "least": least, "other_share": groups[least].share}
    drawn = loss_difference(groups, limit, tolerance.confidence, rng)
    return Lost(step_1, step_2, HiddenEffect("loss", most or "", drawn, limit), facts)


def losses_as_json(tally: Tally) -> dict[str, Any]:
    """Write the replies of each group by outcome; empty where nothing was lost."""
    if not any(counts["refused"] + counts["failed"] for counts in tally.by_group.values()):
        return {}
    return {"by_group": {name: dict(counts) for name, counts in tally.by_group.items()}}


def hidden_as_json(hidden: Sequence[HiddenEffect]) -> dict[str, Any]:
    """Write the effects that a mean could hide, each with its interval and limit; empty where none was looked at."""
    if not hidden:
        return {}
    return {
        "hidden": [
            {
                "kind": one.kind,
                "name": one.name,
                "effect": asdict(effect_interval(one.draws)),
                "limit": one.limit,
                "bound": one.bound,
            }
            for one in hidden
        ]
    }
