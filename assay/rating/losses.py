"""Influence of lost replies on a letter: differences between groups, and the worst case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.document import NO_ENTRIES, NO_ITEMS, EffectDocument, HiddenDocument, Json, Shares
from assay.model import HiddenEffect
from assay.rating.component import NOTHING_LOST, Lost
from assay.statistics.hidden.losses import DRAWS, LostOfGroup, loss_difference, may_be_chance
from assay.statistics.intervals.credible import effect_interval

ByGroup = Mapping[str, Counter[str]]
"""For each group, the number of replies that were ``usable``, ``refused``, ``unread`` or ``failed``."""

LOST = ("refused", "unread", "failed")
"""Outcomes of a reply without a usable answer."""


def loss_effect(
    by_group: ByGroup,
    limit: float | None,
    confidence: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    of_no_group: int = 0,
) -> tuple[HiddenEffect, ...]:
    """Draw the difference between groups in the share of refusals; empty without a `limit`.

    If answers could not be read, a second effect includes them. It is an upper bound: it prevents a letter, but does
    not prove BS, because the reader may be what treats a group differently.

    `of_no_group` is the number of lost replies that belong to no group. If it is above 0, the difference is drawn
    even if no group lost a reply: groups without a loss are not assumed to be spared.
    """
    if limit is None:
        return ()
    groups = _groups(by_group)
    most_affected = max(groups, key=lambda name: groups[name].share, default="")
    difference = loss_difference(groups, limit, confidence, rng, draws, anyway=of_no_group > 0)
    refused = HiddenEffect("loss", most_affected, difference, limit, chance=may_be_chance(groups))
    if not any(group.unread for group in groups.values()):
        return (refused,)
    lost = loss_difference(groups, limit, confidence, rng, draws, anyway=of_no_group > 0, with_unread=True)
    return (refused, HiddenEffect("loss", most_affected, lost, limit, bound=True))


def lost_replies(by_group: ByGroup, limit: float | None, step_1: float, step_2: float, *, of_no_group: int = 0) -> Lost:
    """Return the largest changes `step_1` and `step_2` of the effects by lost replies, and facts about the losses.

    `limit` is the limit of `loss_effect`; if it is ``None``, the letter need not survive the worst case. `of_no_group`
    is the number of lost replies that belong to no group.
    """
    groups = _groups(by_group)
    if limit is None or not groups:
        return NOTHING_LOST
    refusals = {name: replace(losses, unread=0) for name, losses in groups.items()}
    return Lost(step_1, step_2, _facts(groups, of_no_group), _facts(refusals, of_no_group))


def _facts(groups: Mapping[str, LostOfGroup], of_no_group: int) -> Json:
    """Return the number of lost replies, and the largest and the smallest share of a group."""
    most_affected, least_affected = (pick(groups, key=lambda name: groups[name].share) for pick in (max, min))
    return {
        "lost": sum(losses.refused + losses.unread + losses.failed for losses in groups.values()) + of_no_group,
        "most": most_affected,
        "share": groups[most_affected].share,
        "least": least_affected,
        "other_share": groups[least_affected].share,
    }


def lost_of_no_group(by_group: ByGroup, lost: int) -> int:
    """Return how many of all `lost` replies are counted for no group."""
    return lost - sum(counts[outcome] for counts in by_group.values() for outcome in LOST)


def _groups(by_group: ByGroup) -> dict[str, LostOfGroup]:
    return {
        name: LostOfGroup(counts.total(), *(counts[outcome] for outcome in LOST)) for name, counts in by_group.items()
    }


def losses_document(by_group: ByGroup, limit: float | None) -> Mapping[str, Shares]:
    """Return the replies of each group by outcome; `NO_ENTRIES` if nothing was lost or `limit` is ``None``."""
    if limit is None or not any(counts[outcome] for counts in by_group.values() for outcome in LOST):
        return NO_ENTRIES
    return {name: dict(counts) for name, counts in by_group.items()}


def hidden_documents(hidden: Sequence[HiddenEffect]) -> tuple[HiddenDocument, ...]:
    """Return the hidden effects, each with its interval and limit; `NO_ITEMS` if none was computed.

    The effect of kind ``loss`` is left out if nothing was lost; `losses_document` has the counts.
    """
    if not hidden:
        return NO_ITEMS
    return tuple(
        HiddenDocument(
            effect.kind, effect.name, EffectDocument.of(effect_interval(effect.draws)), effect.limit, effect.bound
        )
        for effect in hidden
        if effect.kind != "loss" or effect.draws.any()
    )
