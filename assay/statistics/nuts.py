"""The No-U-Turn Sampler: draws from a density that is known up to a constant, with its gradient.

Multinomial NUTS. All chains step together and learn together: one length of step and one metric, which knows the
scale of each dimension and which go together, from the draws of all. Pure numpy; the target says how fast it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds
from assay.statistics.nuts_adaptation import StepSize, first_step, windows
from assay.statistics.nuts_metric import Floats, Metric, Scales, learnt
from assay.statistics.nuts_tree import Chains, Flags, Move, Target, Whole

DEEPEST = 10
"""Doublings of a tree at most: 1,023 leapfrog steps."""


@dataclass(frozen=True)
class Sampled:
    """Draws of several chains, warm-up left out.

    Attributes
    ----------
    draws : ndarray, shape (chains, draws, dims)
        In the units of the target's positions.
    log_density : ndarray, shape (chains, draws)
        Of the target, at them.
    leaves : ndarray of int, shape (chains, draws)
        Leapfrog steps behind each.
    diverged : ndarray of bool, shape (chains, draws)
        Whether the trajectory left the target. More than a few mean that parts of it were not reached.
    accepted : float
        Mean acceptance of the leaves.
    step : float
        Length of a leapfrog step.
    variance : ndarray, shape (dims,)
        Scale of each dimension, squared: the inverse of the mass.
    """

    draws: Floats
    log_density: Floats
    leaves: Whole
    diverged: Flags
    accepted: float
    step: float
    variance: Floats

    @property
    def together(self) -> Floats:
        """Draws of all chains, one after the other; shape (chains * draws, dims)."""
        return self.draws.reshape(-1, self.draws.shape[-1])

    def as_json(self) -> dict[str, Any]:
        """Write down how the chains ran; the draws themselves are kept elsewhere."""
        chains, draws, dims = self.draws.shape
        return {
            "chains": chains,
            "draws": draws,
            "dims": dims,
            "leapfrog_steps": int(self.leaves.sum()),
            "diverged": int(self.diverged.sum()),
            "accepted": self.accepted,
            "step": self.step,
        }


def sample_nuts(
    target: Target,
    start: ArrayLike,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
    warm_up: int = 400,
    acceptance: float = 0.75,
    max_depth: int = DEEPEST,
) -> Sampled:
    """Draw from a target with as many chains as there are places to start from.

    Parameters
    ----------
    target : callable
        Positions, shape (chains, dims), to log densities (chains,), up to a constant, and gradients
        (chains, dims). Any number of chains may be asked for at once, up to that of `start`.
    start : array_like, shape (chains, dims)
        Where the chains begin. R-hat needs places further apart than the target is wide.
    rng : Generator
        Of all random numbers: the same generator gives the same draws.
    draws : int
        Draws to keep, of each chain.
    warm_up : int
        Transitions before them, during which steps and scales are learnt; at least 20.
    acceptance : float
        Mean acceptance to aim at, in (0, 1). Nearer to one, steps are shorter: for targets that diverge. On
        logistic posteriors .7 to .75 gave the most effective draws for each call of the target.
    max_depth : int
        Doublings of a tree, at most.

    Returns
    -------
    Sampled

    Raises
    ------
    OutOfBounds
        If a number is out of its range, or `start` is no matrix.
    EvidenceError
        If the target has no finite density or gradient where a chain starts.

    Notes
    -----
    A tree stops at a U-turn of the whole or any of its parts, seen from both ends and across the middle.
    One length of step for all chains, and scales from the draws of all, are learnt with a fraction of the
    warm-up that a chain by itself needs; after the warm-up the chains have nothing to do with each other.

    References
    ----------
    .. [1] Hoffman & Gelman (2014), "The No-U-Turn Sampler", J. Mach. Learn. Res. 15.
    .. [2] Betancourt (2017), "A conceptual introduction to Hamiltonian Monte Carlo", appendix A.
    .. [3] Seyboldt, Carlson & Carpenter (2026), "Preconditioning Hamiltonian Monte Carlo by minimizing Fisher
       divergence", arXiv 2603.18845.
    """
    where = _checked(start, draws, warm_up, acceptance, max_depth)
    # a trajectory that leaves the target overflows before it is noticed
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        chains = Chains(target, where, max_depth)
        _check_start(chains)
        step, metric = _warm_up(chains, warm_up, acceptance, rng)
        return _draw(chains, draws, step, metric, rng)


def _warm_up(chains: Chains, count: int, acceptance: float, rng: np.random.Generator) -> tuple[float, Metric]:
    """Learn the length of a step and the metric."""
    metric: Metric = Scales(np.ones(chains.position.shape[1]))
    size = StepSize(first_step(chains, metric, rng), acceptance)
    ends, seen = set(windows(count)), []
    for done in range(1, count + 1):
        move = chains.move(size.now, metric, rng)
        size.update(float(move.accepted.mean()))
        seen.append((chains.position, chains.gradient))
        if done in ends:
            positions, gradients = (np.concatenate(one) for one in zip(*seen, strict=True))
            metric, seen = learnt(positions, gradients), []
            size.restart(first_step(chains, metric, rng))
    return size.settled, metric


def _draw(chains: Chains, count: int, step: float, metric: Metric, rng: np.random.Generator) -> Sampled:
    drawn = np.empty((count, *chains.position.shape))
    log_density, moves = np.empty((count, len(chains.position))), list[Move]()
    for at in range(count):
        moves.append(chains.move(step, metric, rng))
        drawn[at], log_density[at] = chains.position, chains.log_density
    return Sampled(
        draws=drawn.transpose(1, 0, 2),
        log_density=log_density.T,
        leaves=np.stack([move.leaves for move in moves], axis=1),
        diverged=np.stack([move.diverged for move in moves], axis=1),
        accepted=float(np.mean([move.accepted for move in moves])),
        step=step,
        variance=metric.variance,
    )


def _checked(start: ArrayLike, draws: int, warm_up: int, acceptance: float, max_depth: int) -> Floats:
    where = np.asarray(start, dtype=float)
    if where.ndim != 2 or where.size == 0:
        raise OutOfBounds(f"each chain starts at a row of numbers; an array of shape {where.shape} has none", "start")
    if draws < 1 or warm_up < 20 or not 1 <= max_depth <= 20:
        raise OutOfBounds(
            f"one draw, 20 transitions of warm-up and 1 to 20 doublings are the least; not {draws}, {warm_up} "
            f"and {max_depth}"
        )
    if not 0 < acceptance < 1:
        raise OutOfBounds(f"the acceptance to aim at lies between 0 and 1, not at {acceptance}", "acceptance")
    return where


def _check_start(chains: Chains) -> None:
    usable = np.isfinite(chains.log_density) & np.isfinite(chains.gradient).all(axis=1)
    if not usable.all():
        raise EvidenceError(
            f"the target has no finite density and gradient where {int((~usable).sum())} of {usable.size} chains "
            "start; start them where it has"
        )
