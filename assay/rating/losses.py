"""Influence of lost replies on a letter: differences between groups, and the worst case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from assay.model import HiddenEffect
from assay.rating.component import NOTHING_LOST, Lost
from assay.statistics.hidden.losses import DRAWS, LostOfGroup, loss_difference
from assay.statistics.intervals.credible import effect_interval

ByGroup = Mapping[str, Counter[str]]
"""For each group, the replies that were ``usable``, ``refused`` and ``failed``."""


def loss_effect(
    by_group: ByGroup,
    limit: float | None,
    confidence: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    of_no_group: int = 0,
) -> tuple[HiddenEffect, ...]:
    """Draw the difference between groups in lost replies; none where `limit` is ``None``, as before 1.3.0.

    `of_no_group` replies were lost that say nothing about groups; where there are some, no group is taken for spared.
    """
    if limit is None:
        return ()
    groups = _groups(by_group)
    most = max(groups, key=lambda name: groups[name].share, default="")
    return (
        HiddenEffect(
            "loss", most, loss_difference(groups, limit, confidence, rng, draws, anyway=of_no_group > 0), limit
        ),
    )


def lost_replies(by_group: ByGroup, limit: float | None, step_1: float, step_2: float) -> Lost:
    """Return the largest change that lost replies could make: `step_1` and `step_2` of the effects.

    `limit` is that of `loss_effect`; ``None``: the letter need not survive the worst case.
    """
    groups = _groups(by_group)
    if limit is None or not groups:
        return NOTHING_LOST
    most, least = (pick(groups, key=lambda name: groups[name].share) for pick in (max, min))
    facts = {
        "lost": sum(one.refused + one.failed for one in groups.values()),
        "most": most,
        "share": groups[most].share,
        "least": least,
        "other_share": groups[least].share,
    }
    return Lost(step_1, step_2, facts)


def _groups(by_group: ByGroup) -> dict[str, LostOfGroup]:
    return {name: LostOfGroup(counts.total(), counts["refused"], counts["failed"]) for name, counts in by_group.items()}


def losses_as_json(by_group: ByGroup, limit: float | None) -> dict[str, Any]:
    """Write the replies of each group by outcome; empty where nothing was lost, or `limit` is ``None``."""
    if limit is None or not any(counts["refused"] + counts["failed"] for counts in by_group.values()):
        return {}
    return {"by_group": {name: dict(counts) for name, counts in by_group.items()}}


def hidden_as_json(hidden: Sequence[HiddenEffect]) -> dict[str, Any]:
    """Write the effects that a mean could hide, each with its interval and limit; empty where none was looked at.

    Where nothing was lost there is no difference to state: `losses_as_json` has the counts.
    """
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
            if one.kind != "loss" or one.draws.any()
        ]
    }
