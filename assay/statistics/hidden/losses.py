"""Difference between groups in the share of lost replies (docs/what-a-mean-hides.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.model import Floats, Integers
from assay.statistics.hidden.chance import CLEAR
from assay.statistics.special import special

DRAWS = 4000

PRIOR = 0.5
"""Weight of each outcome in Jeffreys' prior of a share."""


@dataclass(frozen=True)
class LostOfGroup:
    """Counts of a group's questions without a usable answer."""

    questions: int
    """Questions that were sent."""
    refused: int = 0
    """Refusals."""
    unread: int = 0
    """Answers that could not be read."""
    failed: int = 0
    """Calls that failed, such as timeouts and errors of the server."""

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
    anyway: bool = False,
    with_unread: bool = False,
) -> Floats:
    """Draw the largest difference between groups in the share of questions that were refused.

    Failed calls count only if their shares alone differ between groups by more than `limit` with probability
    `confidence`: a network that fails at random prefers no group. Answers that could not be read count only
    `with_unread`: it may be the reader, and not the service, that treats a group differently.

    Returns
    -------
    ndarray, shape (draws,)
        All 0 if nothing that counts was lost, unless `anyway` is true.
    """
    lost = {name: group.refused + group.unread * with_unread for name, group in groups.items()}
    refusals = {name: (lost[name], group.questions - group.failed) for name, group in groups.items()}
    refused = _largest(refusals, rng, draws, anyway=anyway)
    failed = _largest({name: (group.failed, group.questions) for name, group in groups.items()}, rng, draws)
    if float((failed > limit).mean()) < confidence:
        return refused
    return _largest({name: (lost[name] + group.failed, group.questions) for name, group in groups.items()}, rng, draws)


def _largest(
    counts: Mapping[str, tuple[int, int]], rng: np.random.Generator, draws: int, *, anyway: bool = False
) -> Floats:
    nonempty = {name: count for name, count in counts.items() if count[1]}
    if len(nonempty) < 2 or not (anyway or any(lost for lost, _ in nonempty.values())):
        return np.zeros(draws)
    shares = [rng.beta(lost + PRIOR, total - lost + PRIOR, draws) for lost, total in nonempty.values()]
    return np.asarray(np.max([np.abs(a - b) for a, b in combinations(shares, 2)], axis=0))


def may_be_chance(groups: Mapping[str, LostOfGroup]) -> bool:
    """Return whether replies that are lost at random can differ between groups as much as these.

    Fisher's exact test of the groups with the largest and the smallest share, of refusals and of failed calls, at the
    level of `assay.statistics.hidden.chance`; each of several pairs of groups may err.
    """
    refused = [
        (group.refused, group.questions - group.failed) for group in groups.values() if group.questions > group.failed
    ]
    failed = [(group.failed, group.questions) for group in groups.values() if group.questions]
    return not any(_clearly_apart(counts) for counts in (refused, failed))


def _clearly_apart(counts: Sequence[tuple[int, int]]) -> bool:
    if len(counts) < 2:
        return False
    (most_lost, of_most), (least, of_least) = (
        pick(counts, key=lambda count: count[0] / count[1]) for pick in (max, min)
    )
    lost, total = most_lost + least, of_most + of_least
    could = np.arange(most_lost, min(lost, of_most) + 1)
    tail = np.exp(_log_comb(of_most, could) + _log_comb(of_least, lost - could) - _log_comb(total, lost)).sum()
    pairs = len(counts) * (len(counts) - 1) / 2
    return bool(2 * pairs * tail <= 1 - CLEAR)


def _log_comb(n: int, k: Integers | int) -> Floats:
    """Return the logarithm of the binomial coefficient."""
    return np.asarray(special.gammaln(n + 1) - special.gammaln(np.add(k, 1)) - special.gammaln(np.subtract(n + 1, k)))
