"""Trees of leapfrog steps for several chains at once: the inner part of the No-U-Turn Sampler.

All chains step together, so that one call of the target serves them all; a chain whose tree is complete
leaves the group. Leaves are kept as they are made and looked at a few at a time, which costs a few more of
them at a U-turn, and spares the bookkeeping of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.nuts_metric import Floats, Metric

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]

Point = tuple[Floats, Floats, Floats]
"""Positions, momenta and gradients of several chains, each of shape (chains, dims)."""

Target = Callable[[Floats], tuple[Floats, Floats]]
"""Positions, shape (chains, dims), to log densities (chains,) and their gradients (chains, dims).

Up to a constant in the log density. Where it does not exist it is ``-inf`` or ``nan``, not an exception.
The arrays it returns are read before it is called again, so that it may use them anew.
"""

GLANCE = 8
"""Leaves made between two looks for a U-turn: at most so many less one are in vain."""

DIVERGED = 1000.0
"""Rise of the energy at which a trajectory has left the target (Stan's)."""


@dataclass(frozen=True, slots=True)
class Move:
    """What one transition of every chain was like; each of shape (chains,).

    Attributes
    ----------
    accepted : ndarray
        Mean over the leaves of the probability to accept each (for the step size; nothing is rejected by it).
    leaves : ndarray of int
        Leapfrog steps.
    diverged : ndarray of bool
        Whether the trajectory left the target.
    """

    accepted: Floats
    leaves: Whole
    diverged: Flags


class Chains:
    """Where several chains are, and how they move.

    Parameters
    ----------
    target : Target
        Log density and gradient.
    position : ndarray, shape (chains, dims)
        Where they start.
    max_depth : int
        A tree is doubled at most so many times.

    Attributes
    ----------
    position, gradient : ndarray, shape (chains, dims)
        Where they are, and the gradient there.
    log_density : ndarray, shape (chains,)
        Log density there.
    """

    def __init__(self, target: Target, position: Floats, max_depth: int) -> None:
        self._target, self._max_depth = target, max_depth
        self.position = position.copy()
        density, gradient = target(self.position)
        self.log_density, self.gradient = np.array(density, dtype=float), np.array(gradient, dtype=float)
        self._room = _Room()

    def leap(self, step: float, metric: Metric, momentum: Floats) -> Floats:
        """Log probability to accept one leapfrog step of this length, by chain; nothing moves."""
        forward = np.ones(len(momentum))
        leaves = self._room.leaves(1, self.position.shape)
        leaves.grow(self._target, (self.position, momentum, self.gradient), step * forward, metric, 0, 1)
        gain: Floats = self._energy(momentum, metric) - leaves.energy[0]
        return np.minimum(0.0, gain)

    def move(self, step: float, metric: Metric, rng: np.random.Generator) -> Move:
        """Make one transition of every chain.

        Parameters
        ----------
        step : float
            Length of a leapfrog step.
        metric : Metric
            Inverse of the mass.
        rng : Generator
            Momenta, directions and choices.
        """
        count, dims = self.position.shape
        momentum = metric.momentum((count, dims), rng)
        luck = rng.random((self._max_depth, 3, count))
        tree = _Tree(self, momentum, self._energy(momentum, metric))
        for depth in range(self._max_depth):
            growing = tree.growing.nonzero()[0]
            if growing.size == 0:
                break
            side = (luck[depth, 0, growing] < 0.5).astype(np.intp)
            leaves = self._room.leaves(2**depth, (growing.size, dims))
            tree.double(self._target, leaves, growing, side, step, metric, luck[depth, 1:, growing].T)
        self.position, self.gradient, self.log_density = tree.position, tree.gradient, tree.log_density
        return Move(tree.accepted / np.maximum(tree.leaves, 1), tree.leaves, tree.diverged)

    def _energy(self, momentum: Floats, metric: Metric) -> Floats:
        return np.asarray(np.vecdot(momentum, metric.velocity(momentum)) / 2 - self.log_density, dtype=float)


class _Leaves:
    """Consecutive points of several trajectories, oldest first; shape (leaves, chains, dims)."""

    def __init__(self, position: Floats, momentum: Floats, gradient: Floats) -> None:
        self.position, self.momentum, self.gradient = position, momentum, gradient
        self.log_density, self.energy = np.empty(position.shape[:2]), np.empty(position.shape[:2])

    def grow(
        self,
        target: Target,
        point: Point,
        steps: Floats,
        metric: Metric,
        first: int,
        last: int,
    ) -> Point:
        """Make the leaves from `first` up to `last` after the point given, and return the last; `steps` are signed."""
        position, momentum, gradient = point
        half, whole = (steps / 2)[:, None], steps[:, None]
        kick, middle = half * gradient, np.empty_like(momentum)
        for at in range(first, last):
            np.add(momentum, kick, out=middle)
            way = metric.velocity(middle)
            way *= whole
            position = np.add(position, way, out=self.position[at])
            self.log_density[at], self.gradient[at] = target(position)
            np.multiply(self.gradient[at], half, out=kick)
            momentum = np.add(middle, kick, out=self.momentum[at])
        made = self.momentum[first:last]
        energy = np.vecdot(made, metric.velocity(made)) / 2 - self.log_density[first:last]
        self.energy[first:last] = np.where(np.isnan(energy), np.inf, energy)
        return position, momentum, self.gradient[last - 1]

    def turned(self, first: int, last: int, sign: Floats) -> Flags:
        """Whether any part of the leaves that was completed between `first` and `last` made a U-turn.

        Parts are those a tree of doublings has: aligned runs of 2, 4, 8 ... leaves.
        """
        found, size = np.zeros(self.position.shape[1], dtype=bool), 2
        while size <= last:
            if last % size == 0:
                start = min(first, last - size)
                found |= self._turned_in(slice(start, last), size, sign).any(axis=0)
            size *= 2
        return found

    def _turned_in(self, part: slice, size: int, sign: Floats) -> Flags:
        """Whether runs of `size` leaves did: over their whole length, or across their middle."""
        position, momentum = self.position[part], self.momentum[part]
        start, end = (position[::size], momentum[::size]), (position[size - 1 :: size], momentum[size - 1 :: size])
        turned = _turned(start, end, sign)
        if size > 2:
            before, after = ((position[at::size], momentum[at::size]) for at in (size // 2 - 1, size // 2))
            turned |= _turned(start, after, sign) | _turned(before, end, sign)
        return turned


class _Room:
    """Memory that trees are grown in, kept from one to the next."""

    def __init__(self) -> None:
        self._kept = np.empty((3, 0))

    def leaves(self, count: int, shape: tuple[int, ...]) -> _Leaves:
        size = count * shape[0] * shape[1]
        if self._kept.shape[1] < size:
            self._kept = np.empty((3, size))
        return _Leaves(*self._kept[:, :size].reshape(3, count, *shape))


class _Tree:
    """One tree for each chain, all of one depth as long as they grow.

    Of both ends (0 is backward in time, 1 is forward) it keeps the point; of what lies between, the sum of the
    weights ``exp(start's energy - energy)`` and one point that was drawn by them.
    """

    def __init__(self, chains: Chains, momentum: Floats, energy: Floats) -> None:
        count = len(momentum)
        q, p, g = (np.stack([one, one]) for one in (chains.position, momentum, chains.gradient))
        self.ends = q, p, g
        self.position, self.gradient = chains.position.copy(), chains.gradient.copy()
        self.log_density = chains.log_density.copy()
        self.energy, self.log_weight = energy, np.zeros(count)
        self.growing, self.diverged = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
        self.accepted, self.leaves = np.zeros(count), np.zeros(count, dtype=np.int64)

    def double(
        self,
        target: Target,
        leaves: _Leaves,
        which: Whole,
        side: Whole,
        step: float,
        metric: Metric,
        luck: Floats,
    ) -> None:
        """Add as many leaves as there are to the growing trees, each on its side, and see which grow on."""
        sign = np.where(side == 1, 1.0, -1.0)
        made, whole = self._grow(target, leaves, which, side, sign * step, metric)
        gain = self.energy[which] - leaves.energy[:made]
        self.accepted[which] += np.exp(np.minimum(0.0, gain)).sum(axis=0)
        self.leaves[which] += made
        self.growing[which] = False
        if whole.any():
            kept = whole.nonzero()[0]
            self._choose(leaves, gain, which, kept, luck)
            turned = self._join(leaves, which[kept], kept, side[kept], sign[kept])
            self.growing[which[kept]] = ~turned

    def _grow(
        self, target: Target, leaves: _Leaves, which: Whole, side: Whole, steps: Floats, metric: Metric
    ) -> tuple[int, Flags]:
        """Make the leaves, until none is left that neither turned nor diverged; how many, and which are whole."""
        count, (q, p, g) = len(leaves.position), self.ends
        point = q[side, which], p[side, which], g[side, which]
        whole, sign, made = np.ones(which.size, dtype=bool), np.sign(steps), 0
        while made < count and whole.any():
            first, made = made, min(count, made + GLANCE)
            point = leaves.grow(target, point, steps, metric, first, made)
            left = (leaves.energy[first:made] - self.energy[which] > DIVERGED).any(axis=0)
            self.diverged[which[left & whole]] = True
            whole &= ~left & ~leaves.turned(first, made, sign)
        return made, whole

    def _choose(self, leaves: _Leaves, gain: Floats, which: Whole, kept: Whole, luck: Floats) -> None:
        """Draw a new leaf by weight, and take it with the ratio of the new weights' sum to the old's (at most 1)."""
        gain, (first, second) = gain[:, kept], luck[:, kept]
        top = gain.max(axis=0)
        running = np.exp(gain - top).cumsum(axis=0)
        drawn = (running < first * running[-1]).sum(axis=0)
        added, old = top + np.log(running[-1]), self.log_weight[which[kept]]
        taken = (np.log(second) < added - old).nonzero()[0]
        self.log_weight[which[kept]] = np.logaddexp(old, added)
        chains, at = which[kept[taken]], (drawn[taken], kept[taken])
        self.position[chains], self.gradient[chains] = leaves.position[at], leaves.gradient[at]
        self.log_density[chains] = leaves.log_density[at]

    def _join(self, leaves: _Leaves, chains: Whole, kept: Whole, side: Whole, sign: Floats) -> Flags:
        """Move the ends, and look whether the whole turned: over its length, or across the seam."""
        q, p, g = self.ends
        far, near = (q[1 - side, chains], p[1 - side, chains]), (q[side, chains], p[side, chains])
        seam = (leaves.position[0, kept], leaves.momentum[0, kept])
        end = (leaves.position[-1, kept], leaves.momentum[-1, kept])
        q[side, chains], p[side, chains], g[side, chains] = *end, leaves.gradient[-1, kept]
        turned = _turned(far, end, sign)
        if len(leaves.position) > 1:
            turned |= _turned(far, seam, sign) | _turned(near, end, sign)
        return turned


def _turned(start: tuple[Floats, Floats], end: tuple[Floats, Floats], sign: Floats) -> Flags:
    """Whether the ends of trajectories no longer move apart; `sign` is -1 where time runs backward."""
    apart = end[0] - start[0]
    return np.asarray(np.minimum(np.vecdot(apart, start[1]) * sign, np.vecdot(apart, end[1]) * sign) <= 0)
