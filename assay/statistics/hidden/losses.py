"""Difference between groups in the share of lost replies (METHODS section 11.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.model import Floats

DRAWS = 4000

PRIOR = 0.5
"""Weight of each outcome in Jeffreys' prior of a share."""


@dataclass(frozen=True)
class LostOfGroup:
    """Counts of a group's questions without a usable answer."""

    asked: int
    """Questions that were sent."""
    refused: int = 0
    """Replies without a usable answer: refusals, and answers that could not be read."""
    failed: int = 0
    """Calls that failed, such as timeouts and errors of the server."""

    @property
    def share(self) -> float:
        """Share of the questions without a usable answer."""
        return (self.refused + self.failed) / self.asked if self.asked else 0.0


def loss_difference(
    groups: Mapping[str, LostOfGroup],
    limit: float,
    confidence: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    anyway: bool = False,
) -> Floats:
    """Draw the largest difference between groups in the share of questions without a usable answer.

    Failed calls count only if their shares alone differ between groups by more than `limit` with probability
    `confidence`: a network that fails at random prefers no group.

    Returns
    -------
    ndarray, shape (draws,)
        All 0 if nothing was refused and failed calls do not count, unless `anyway` is true.
    """
    refusals = {name: (one.refused, one.asked - one.failed) for name, one in groups.items()}
    refused = _largest(refusals, rng, draws, anyway=anyway)
    failed = _largest({name: (one.failed, one.asked) for name, one in groups.items()}, rng, draws)
    if float((failed > limit).mean()) < confidence:
        return refused
    return _largest({name: (one.refused + one.failed, one.asked) for name, one in groups.items()}, rng, draws)


def _largest(
    counts: Mapping[str, tuple[int, int]], rng: np.random.Generator, draws: int, *, anyway: bool = False
) -> Floats:
    known = {name: one for name, one in counts.items() if one[1]}
    if len(known) < 2 or not (anyway or any(lost for lost, _ in known.values())):
        return np.zeros(draws)
    shares = [rng.beta(lost + PRIOR, asked - lost + PRIOR, draws) for lost, asked in known.values()]
    return np.asarray(np.max([np.abs(a - b) for a, b in combinations(shares, 2)], axis=0))
