"""Sentinels: a few cases of a rating that are asked again and again, to notice that the service changed.

The test is a conformal test martingale (Vovk 2021): the rank of today's outcome of a case among its own earlier ones
is uniform as long as the service is unchanged, whatever its bias and its noise; a bet on the ranks of all cases
multiplies its capital if they are no longer uniform (docs/silent-changes.md).

Nothing is compared with the answers for which a case was selected. The most telling cases of a rating were selected
by their values, and return towards the mean without any change (regression to the mean).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.experiment import BUDGET, Experiment, generator
from assay.model import REPEATED, Failure, Finding, Floats, Observation, Probe, Reply

HORIZON = 90
"""Maximum number of runs in one test; after that, new cases are chosen and a new test begins."""

ALPHA = 0.05
"""Maximum probability of an alarm within `HORIZON` runs if the service is unchanged."""

FRESH_SHARE = 0.75
"""Share of the cases that are drawn at random; the others are the most telling ones."""

BETS = tuple((tail, stake) for tail in (0.08, 0.25) for stake in (0.1, 0.3))
"""Bets: the stake in [0, 1) on the event that a rank lies within a tail of this probability, at either end."""


@dataclass(frozen=True)
class Sentinels:
    """Keys of the chosen cases; the two groups have no case in common."""

    fresh: tuple[str, ...]
    """Drawn at random, so that their answers in the rating are the first ones in their history."""
    telling: tuple[str, ...]
    """Selected by their answers in the rating, so that these answers do not count."""


@dataclass(frozen=True)
class SentinelRun:
    """Outcomes of one run by case, ``None`` if the answer was lost; all runs of a test have the same cases."""

    seed: int
    """Seed of the random numbers that break ties of ranks."""
    outcomes: Mapping[str, float | None]
    reference: Mapping[str, float] = field(default_factory=dict)
    """Outcomes in the rating of the cases that were drawn at random; only the first run's are used."""


@dataclass(frozen=True, slots=True)
class ChangeEvidence:
    """Evidence against "the service is unchanged" after the last run of a test."""

    log_e: float
    """Natural logarithm of the e-value; minus infinity without a run."""
    alarm: bool
    """Whether the e-value reached ``1 / ALPHA`` in this or an earlier run."""
    since: int | None
    """Index of the first run after the likeliest change, at the alarm; ``None`` without an alarm."""


def choose_sentinels(by_weight: Sequence[str], count: int, rng: np.random.Generator) -> Sentinels:
    """Choose up to `count` cases: three quarters at random, and of the others the first in `by_weight`.

    The random ones are drawn first, from all cases: a draw from the cases that are not telling would be a selection
    by value.
    """
    size = min(len(by_weight), round(FRESH_SHARE * min(count, len(by_weight))))
    drawn = {by_weight[index] for index in rng.choice(len(by_weight), size, replace=False)} if size else set()
    telling = [key for key in by_weight if key not in drawn][: max(0, min(count, len(by_weight)) - size)]
    return Sentinels(tuple(sorted(drawn)), tuple(telling))


def smoothed_ranks(history: Floats, today: Floats, uniforms: Floats) -> Floats:
    """Compute smoothed conformal p-values: ranks of `today` among the history and itself.

    ``p = (#{x < y} + u (1 + #{x = y})) / (n + 1)`` over the `n` earlier outcomes `x`; uniform on (0, 1), and
    independent of all earlier p-values, if the outcomes are exchangeable.

    Parameters
    ----------
    history : array, shape (..., n)
        Earlier outcomes of each case; NaN for a lost one.
    today, uniforms : array, shape (...)
        Today's outcomes, NaN for a lost one, and random numbers in (0, 1), which break ties.

    Returns
    -------
    array, shape (...)
        NaN where today's outcome is lost or there is no earlier one.

    References
    ----------
    .. [1] Vovk, Gammerman & Shafer (2005), "Algorithmic Learning in a Random World", section 2.2.
    """
    earlier = np.sum(~np.isnan(history), axis=-1)
    lower = np.sum(history < today[..., None], axis=-1)
    equal = np.sum(history == today[..., None], axis=-1)
    ranks = (lower + uniforms * (1 + equal)) / (earlier + 1)
    return np.asarray(np.where(np.isnan(today) | (earlier == 0), np.nan, ranks))


def log_growth(ranks: Floats) -> Floats:
    """Compute the logarithm of the factor by which one run multiplies the capital of each bet.

    A bet with tail `q` and stake `c` multiplies by ``1 - c + c / q`` for each rank below `q`, else by ``1 - c``; its
    expectation is 1 for a uniform rank. The same bets are made on ``1 - rank``. A NaN changes nothing.

    Parameters
    ----------
    ranks : array, shape (..., cases)

    Returns
    -------
    array, shape (..., 2 * len(BETS))
    """
    known = ~np.isnan(ranks)
    count = np.sum(known, axis=-1)
    growth = []
    for sided in (ranks, 1 - ranks):
        for tail, stake in BETS:
            within = np.sum(known & (sided < tail), axis=-1)
            growth.append(within * math.log(1 - stake + stake / tail) + (count - within) * math.log(1 - stake))
    return np.stack(growth, axis=-1).astype(float)


def log_e_process(growth: Floats) -> Floats:
    """Compute the logarithm of the e-process after each run: a mixture over bets and over the run of the change.

    ``E_t = sum_{s <= t} sum_b exp(G_b(s) + ... + G_b(t)) / (HORIZON * bets)``. It is at most a nonnegative martingale
    that starts at 1, so ``P(E_t >= 1 / alpha for any t) <= alpha`` (Ville's inequality) if nothing changes.

    Parameters
    ----------
    growth : array, shape (runs, ..., bets)
        Results of `log_growth`; at most `HORIZON` runs.

    References
    ----------
    .. [1] Vovk (2021), "Testing randomness online", Statistical Science 36(4), 595-611.
    .. [2] Vovk, Petej, Nouretdinov, Ahlberg, Carlsson & Gammerman (2021), "Retrain or not retrain: conformal test
       martingales for change-point detection", PMLR 152, 191-210.
    """
    if len(growth) > HORIZON:
        raise ValueError(f"a test has at most {HORIZON} runs, not {len(growth)}")
    capital = np.cumsum(growth, axis=0)
    starts = np.logaddexp.accumulate(growth - capital, axis=0)  # minus the capital before each possible change
    mixed = np.logaddexp.reduce(capital + starts, axis=-1)
    return np.asarray(mixed - math.log(HORIZON * growth.shape[-1]))


def evidence_of_change(runs: Sequence[SentinelRun]) -> ChangeEvidence:
    """Test whether the service changed during the runs of one test, in their order."""
    if not runs:
        return ChangeEvidence(-math.inf, alarm=False, since=None)
    keys = sorted(runs[0].outcomes)
    table = np.array([[_number(run.outcomes.get(key)) for key in keys] for run in runs])
    first = np.array([_number(runs[0].reference.get(key)) for key in keys])
    history = np.vstack([first, table])
    growth = np.stack(
        [
            log_growth(smoothed_ranks(history[: at + 1].T, table[at], generator(run.seed).random(len(keys))))
            for at, run in enumerate(runs)
        ]
    )
    log_e = log_e_process(growth)
    alarms = np.flatnonzero(log_e >= -math.log(ALPHA))
    if not len(alarms):
        return ChangeEvidence(float(log_e[-1]), alarm=False, since=None)
    until = growth[: alarms[0] + 1]
    gains = np.cumsum(until[::-1], axis=0)[::-1].max(axis=-1)
    return ChangeEvidence(float(log_e[-1]), alarm=True, since=int(np.argmax(gains)))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def asked_again(
    experiment: Experiment, recorded: Mapping[str, Observation], is_sentinel: Callable[[Probe], bool], finding: Finding
) -> Experiment:
    """Run a rating's experiment again: yield only the probes of sentinels; all others get their recorded replies.

    A probe without a recorded reply fails as if the budget were used up, and is not sent. Repeated questions are not
    asked again either. The experiment ends with `finding` once the recorded probes of all sentinels were asked.
    """
    is_asked = {unit: REPEATED not in unit and is_sentinel(recorded[unit].probe) for unit in recorded}
    waiting = {unit for unit, asked in is_asked.items() if asked}
    batch = next(experiment, ())
    while batch and waiting:
        again = [probe for probe in batch if REPEATED not in probe.unit and is_sentinel(probe)]
        replies = dict(zip((probe.unit for probe in again), (yield again) if again else (), strict=True))
        waiting -= replies.keys()
        try:
            batch = experiment.send([replies.get(probe.unit) or _recorded(recorded, probe) for probe in batch])
        except StopIteration:
            break
    experiment.close()
    return finding


def _recorded(recorded: Mapping[str, Observation], probe: Probe) -> Reply:
    unrecorded = Reply(failure=Failure(BUDGET, "this question is no sentinel, and was not recorded"))
    return recorded[probe.unit].reply if probe.unit in recorded else unrecorded
