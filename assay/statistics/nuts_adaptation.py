"""How the No-U-Turn Sampler warms up: the length of a step, and when its metric is set anew."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from assay.statistics.nuts_metric import Metric
from assay.statistics.nuts_tree import Chains

SHRINKAGE, STABILISER, FORGETTING = 0.05, 10.0, 0.75
"""Of dual averaging: gamma, t0 and kappa of Hoffman & Gelman (2014)."""

FIRST_WINDOW = 10
"""Draws before the metric is first set; every further window is twice as long."""

LAST_STRETCH = 50
"""Draws at the end, during which only the length of the step still changes."""

DOUBLINGS = 60
"""Times that the first step is doubled or halved, at most."""


class StepSize:
    """Length of a leapfrog step, moved until trajectories are accepted as often as wanted (dual averaging).

    Attributes
    ----------
    now : float
        What to try next.
    settled : float
        Weighted mean of what was tried, the later the more: what to keep.
    """

    def __init__(self, first: float, wanted: float) -> None:
        self._wanted = wanted
        self.restart(first)

    def restart(self, first: float) -> None:
        """Forget what was tried; begin at `first`, with ten times that as what it is drawn to."""
        self.now = self.settled = first
        self._centre, self._missed, self._seen = math.log(10 * first), 0.0, 0

    def update(self, accepted: float) -> None:
        """Learn the mean acceptance of one transition."""
        self._seen += 1
        share = 1 / (self._seen + STABILISER)
        self._missed += share * (self._wanted - accepted - self._missed)
        log_now = self._centre - math.sqrt(self._seen) / SHRINKAGE * self._missed
        weight = self._seen**-FORGETTING
        self.now = math.exp(log_now)
        self.settled = math.exp(weight * log_now + (1 - weight) * math.log(self.settled))


def first_step(chains: Chains, metric: Metric, rng: np.random.Generator) -> float:
    """Double or halve a step of one until a single leap is accepted about four times in five."""
    momentum = metric.momentum(chains.position.shape, rng)

    def too_long(step: float) -> bool:
        return bool(np.exp(chains.leap(step, metric, momentum)).mean() < 0.8)

    step, long = 1.0, too_long(1.0)
    for _ in range(DOUBLINGS):
        step *= 0.5 if long else 2.0
        if too_long(step) != long:
            break
    return step


def windows(warm_up: int) -> Iterator[int]:
    """Give how many transitions there are before each new metric: 10, 30, 70 ... and before the last stretch."""
    end, length = warm_up - min(LAST_STRETCH, warm_up // 3), FIRST_WINDOW
    done = 0
    while end > 0 and done < end:
        # a window that would leave less than its double behind takes the rest
        done = done + length if done + 3 * length <= end else end
        length *= 2
        yield done
