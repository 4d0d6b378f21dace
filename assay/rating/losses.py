"""Influence of lost replies on a letter: differences between groups, and the worst case."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.document import NO_ENTRIES, NO_ITEMS, EffectDocument, HiddenDocument, Json, Shares
from assay.model import Floats, HiddenEffect, Integers
from assay.rating.component import NOTHING_LOST, Lost
from assay.statistics.hidden.chance import CONFIDENCE_AGAINST_CHANCE
from assay.statistics.intervals.credible import effect_interval
from assay.statistics.special import special

DRAWS = 4000

PRIOR = 0.5
"""Weight of each outcome in Jeffreys' prior of a share."""


@dataclass(frozen=True)
class LostOfGroup:
    """Counts of the questions about a group, and of those without a usable answer."""

    questions: int
    """Number of questions that were sent."""
    refused: int = 0
    """Number of questions that the service refused to answer."""
    unread: int = 0
    """Number of answers that could not be read."""
    failed: int = 0
    """Number of calls that failed, such as timeouts and errors of the server."""

    @property
    def share(self) -> float:
        """Share of the questions without a usable answer."""
        return (self.refused + self.unread + self.failed) / self.questions if self.questions else 0.0


def loss_difference(
    groups: Mapping[str, LostOfGroup],
    limit: float,
    confidence: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    even_if_none_lost: bool = False,
    with_unread: bool = False,
) -> Floats:
    """Draw the largest difference between groups in the share of questions that were refused.

    Failed calls count only if their shares alone differ between groups by more than `limit` with probability
    `confidence`: a network that fails at random prefers no group. Answers that could not be read count only
    `with_unread`: the parser of the answers may treat a group differently, and not the service.

    Returns
    -------
    ndarray, shape (draws,)
        All 0 if no counted reply was lost, unless `even_if_none_lost` (then posterior draws with a count of 0).
    """
    lost = {name: group.refused + group.unread * with_unread for name, group in groups.items()}
    refused_and_total = {name: (lost[name], group.questions - group.failed) for name, group in groups.items()}
    refusal_gap = _draw_gap(refused_and_total, rng, draws, even_if_none_lost=even_if_none_lost)
    failure_gap = _draw_gap({name: (group.failed, group.questions) for name, group in groups.items()}, rng, draws)
    if float((failure_gap > limit).mean()) < confidence:
        return refusal_gap
    return _draw_gap({name: (lost[name] + group.failed, group.questions) for name, group in groups.items()}, rng, draws)


def _draw_gap(
    lost_and_total: Mapping[str, tuple[int, int]],
    rng: np.random.Generator,
    draws: int,
    *,
    even_if_none_lost: bool = False,
) -> Floats:
    """Draw the largest difference between groups in the share of lost replies, shape (draws,)."""
    nonempty_counts = [(lost, total) for lost, total in lost_and_total.values() if total]
    if len(nonempty_counts) < 2 or not (any(lost for lost, _ in nonempty_counts) or even_if_none_lost):
        return np.zeros(draws)
    shares = [rng.beta(lost + PRIOR, total - lost + PRIOR, draws) for lost, total in nonempty_counts]
    return np.asarray(np.max([np.abs(a - b) for a, b in combinations(shares, 2)], axis=0))


def may_be_chance(groups: Mapping[str, LostOfGroup]) -> bool:
    """Return whether replies that are lost at random can differ between groups as much as these.

    Refusals and failed calls are tested separately: Fisher's exact test (one-tailed, doubled) of the groups with the
    largest and the smallest share, with Bonferroni's correction for all pairs of groups.
    """
    refusal_counts = [
        (group.refused, group.questions - group.failed) for group in groups.values() if group.questions > group.failed
    ]
    failure_counts = [(group.failed, group.questions) for group in groups.values() if group.questions]
    return not any(_differ_clearly(counts) for counts in (refusal_counts, failure_counts))


def _differ_clearly(counts: Sequence[tuple[int, int]]) -> bool:
    """Return whether the largest and smallest share of losses differ significantly; `counts`: (lost, all) by group."""
    if len(counts) < 2:
        return False
    shares = [lost / total for lost, total in counts]
    worst_lost, worst_total = counts[shares.index(max(shares))]
    best_lost, best_total = counts[shares.index(min(shares))]
    both_lost, both_total = worst_lost + best_lost, worst_total + best_total
    as_extreme = np.arange(worst_lost, min(both_lost, worst_total) + 1)  # lost replies of the most affected group
    log_ways = _log_comb(worst_total, as_extreme) + _log_comb(best_total, both_lost - as_extreme)
    tail = np.exp(log_ways - _log_comb(both_total, both_lost)).sum()  # hypergeometric probability of as many or more
    pair_count = len(counts) * (len(counts) - 1) / 2
    return bool(2 * pair_count * tail <= 1 - CONFIDENCE_AGAINST_CHANCE)  # both tails, and Bonferroni's correction


def _log_comb(n: int, k: Integers | int) -> Floats:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(np.add(k, 1)) - special.gammaln(np.subtract(n + 1, k)))


ByGroup = Mapping[str, Counter[str]]
"""For each group, the number of replies that were ``usable``, ``refused``, ``unread`` or ``failed``."""

LOST = ("refused", "unread", "failed")
"""Kinds of replies without a usable answer, as `ByGroup` counts them."""


def loss_effect(
    by_group: ByGroup,
    limit: float | None,
    confidence: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    of_no_group: int = 0,
) -> tuple[HiddenEffect, ...]:
    """Draw the difference between groups in the share of refused replies (`loss_difference`); empty without a `limit`.

    If answers could not be read, a second effect is the difference in refused and unread ones. It is an upper bound: it
    prevents a letter, but does not prove BS, because the parser may treat a group differently, and not the service.

    `of_no_group` is the number of lost replies that belong to no group. If it is above 0, the difference is drawn even
    if no group lost a reply, because the lost replies may belong to one group.
    """
    if limit is None:
        return ()
    groups = _losses_by_group(by_group)
    most_affected = max(groups, key=lambda name: groups[name].share, default="")
    has_ungrouped = of_no_group > 0
    refusal_gap = loss_difference(groups, limit, confidence, rng, draws, even_if_none_lost=has_ungrouped)
    refusal_effect = HiddenEffect("loss", most_affected, refusal_gap, limit, chance=may_be_chance(groups))
    if not any(group.unread for group in groups.values()):
        return (refusal_effect,)
    lost_gap = loss_difference(groups, limit, confidence, rng, draws, even_if_none_lost=has_ungrouped, with_unread=True)
    return (refusal_effect, HiddenEffect("loss", most_affected, lost_gap, limit, bound=True))


def lost_replies(by_group: ByGroup, limit: float | None, step_1: float, step_2: float, *, of_no_group: int = 0) -> Lost:
    """Return `step_1` and `step_2`, the largest changes that lost replies could cause, with facts about the losses.

    `limit` is that of `loss_effect`; if it is ``None``, the worst case need not be considered, and the result is
    `NOTHING_LOST`. `of_no_group` is the number of lost replies that belong to no group.
    """
    groups = _losses_by_group(by_group)
    if limit is None or not groups:
        return NOTHING_LOST
    refusals = {name: replace(losses, unread=0) for name, losses in groups.items()}  # and failed calls
    return Lost(step_1, step_2, facts=_loss_facts(groups, of_no_group), refusals=_loss_facts(refusals, of_no_group))


def lost_items(by_list: ByGroup, of_step_1: Collection[str], of_step_2: Collection[str]) -> Lost:
    """Return how much the effects could change if all lost items of a list had the same extreme value (range 1).

    A step's effect changes by the largest lost share among its lists, plus that among lists of neither step (words
    for groups); a hidden effect in a stratum (a subset of the items) changes by the larger of both steps' changes.
    """
    change_1, change_2, common_change = (
        largest_lost_share({name: by_list[name] for name in by_list if name in names})
        for names in (of_step_1, of_step_2, {*by_list} - {*of_step_1, *of_step_2})
    )
    lost = lost_replies(by_list, 0.0, change_1 + common_change, change_2 + common_change)  # any limit: losses count
    return replace(lost, stratum=max(lost.step_1, lost.step_2))


def _loss_facts(groups: Mapping[str, LostOfGroup], of_no_group: int) -> Json:
    """Return facts on lost replies: their number, and the groups with the largest and the smallest share of losses."""
    most_affected = max(groups, key=lambda name: groups[name].share)
    least_affected = min(reversed([*groups]), key=lambda name: groups[name].share)  # reversed: another one in a tie
    return {
        "lost": sum(losses.refused + losses.unread + losses.failed for losses in groups.values()) + of_no_group,
        "most": most_affected,
        "share": groups[most_affected].share,
        "least": least_affected,
        "other_share": groups[least_affected].share,
    }


def largest_lost_share(by_group: ByGroup) -> float:
    """Return the largest share of a group's questions without a usable answer; 0 if there are no groups."""
    return max((group.share for group in _losses_by_group(by_group).values()), default=0.0)


def lost_of_no_group(by_group: ByGroup, lost: int) -> int:
    """Return the number of `lost` replies (of the whole component) that `by_group` does not count."""
    return lost - sum(counts[outcome] for counts in by_group.values() for outcome in LOST)


def _losses_by_group(by_group: ByGroup) -> dict[str, LostOfGroup]:
    return {
        name: LostOfGroup(counts.total(), *(counts[outcome] for outcome in LOST)) for name, counts in by_group.items()
    }


def losses_document(by_group: ByGroup, limit: float | None) -> Mapping[str, Shares]:
    """Count the replies of each group by outcome; `NO_ENTRIES` if none was lost, or if `limit` is ``None``."""
    if limit is None or not any(counts[outcome] for counts in by_group.values() for outcome in LOST):
        return NO_ENTRIES
    return {name: dict(counts) for name, counts in by_group.items()}


def hidden_documents(hidden: Sequence[HiddenEffect]) -> tuple[HiddenDocument, ...]:
    """Return the effects that the mean can hide, each with its interval and limit; `NO_ITEMS` if none was computed.

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
