"""Sentinels: a few cases of a rating that are asked again and again, to notice that the service changed.

The test is a conformal test martingale (Vovk 2021): the rank of a case's outcome today among its earlier outcomes
is uniform while the service is unchanged, whatever its bias and its noise; bets on ranks that are not uniform multiply
their capital after a change (docs/silent-changes.md). The answers by which cases were selected never count: selected
for being extreme, they return towards the mean without any change.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
"""``(tail, stake)`` of each bet: it stakes this share of its capital on ranks below `tail` or above ``1 - tail``."""


class Sentinels(NamedTuple):
    """Keys of the cases to ask again: `fresh` were drawn at random, `telling` chosen by their answers in the rating."""

    fresh: tuple[str, ...]
    telling: tuple[str, ...]


@dataclass(frozen=True)
class SentinelRun:
    """Outcome of each case that was asked again in one run (``None``: answer lost); `seed` breaks ties of ranks.

    `reference` has the outcomes that the randomly drawn cases had in the rating; only the first run's are used.
    """

    seed: int
    outcomes: Mapping[str, float | None]
    reference: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeEvidence:
    """Evidence against "the service is unchanged" after the last run of a test."""

    log_e: float
    """Natural logarithm of the e-value."""
    since: int | None
    """Index of the first run after the likeliest change; ``None`` if the e-value never reached ``1 / ALPHA``."""


def choose_sentinels(by_weight: Sequence[str], count: int, rng: np.random.Generator) -> Sentinels:
    """Choose up to `count` cases to ask again of `by_weight` (most telling first): 3/4 at random, others in order."""
    count = min(count, len(by_weight))
    fresh = {by_weight[index] for index in rng.choice(len(by_weight), round(FRESH_SHARE * count), replace=False)}
    telling = [key for key in by_weight if key not in fresh][: count - len(fresh)]
    return Sentinels(tuple(sorted(fresh)), tuple(telling))


def smoothed_ranks(history: Floats, today: Floats, uniforms: Floats) -> Floats:
    """Compute smoothed conformal p-values: ``(#{x < y} + u (1 + #{x = y})) / (n + 1)`` over `n` earlier outcomes `x`.

    They are uniform on (0, 1) and independent of all earlier p-values if the outcomes of a case are exchangeable.

    Parameters
    ----------
    history : array, shape (..., n)
        Earlier outcomes of each case; NaN for a lost one.
    today, uniforms : array, shape (...)
        Today's outcomes `y`, NaN for a lost one, and random numbers `u` in (0, 1), which break ties.

    Returns
    -------
    array, shape (...)
        NaN where today's outcome is lost or there is no earlier one.
    """
    earlier_count = np.sum(~np.isnan(history), axis=-1)
    lower_count = np.sum(history < today[..., None], axis=-1)
    equal_count = np.sum(history == today[..., None], axis=-1)
    ranks = (lower_count + uniforms * (1 + equal_count)) / (earlier_count + 1)
    return np.asarray(np.where(np.isnan(today) | (earlier_count == 0), np.nan, ranks))


def log_growth(ranks: Floats) -> Floats:
    """Compute the log of the factor by which a run multiplies the capital of each bet that the service changed.

    A bet with tail `q` and stake `c` multiplies by ``1 - c + c / q`` for each rank below `q`, else by ``1 - c``: by 1
    on average for a uniform rank. The same bets are made on ``1 - rank``. NaN, a lost answer, changes nothing. From
    `ranks` of shape (..., cases), the result has the shape (..., 2 * len(BETS)).
    """
    tails, stakes = np.array(BETS).T
    hits = np.sum(np.stack([ranks, 1 - ranks], axis=-1)[..., None] < tails, axis=-3)  # over cases: (..., 2 ends, bets)
    misses = np.sum(~np.isnan(ranks), axis=-1)[..., None, None] - hits
    growth = hits * np.log(1 - stakes + stakes / tails) + misses * np.log(1 - stakes)
    return np.asarray(growth.reshape(*ranks.shape[:-1], -1))


def log_e_process(growth: Floats) -> Floats:
    """Compute the logarithm of the e-process after each run: a mixture over bets and over the run of the change.

    ``E_t = sum_{s <= t} sum_b exp(G_b(s) + ... + G_b(t)) / (HORIZON * bets)`` for `growth` of shape (runs, ..., bets),
    with at most `HORIZON` runs. It is at most a nonnegative martingale that starts at 1, so that
    ``P(E_t >= 1 / alpha for any t) <= alpha`` (Ville's inequality) if nothing changes.

    References
    ----------
    .. [1] Vovk (2021), "Testing randomness online", Statistical Science 36(4), 595-611.
    .. [2] Vovk et al. (2021), "Retrain or not retrain: conformal test martingales for change-point detection".
    """
    if len(growth) > HORIZON:
        raise ValueError(f"a test has at most {HORIZON} runs, not {len(growth)}")
    log_capital = np.cumsum(growth, axis=0)
    # log of the sum, over each possible first run of the change, of 1 / (capital before that run)
    starts = np.logaddexp.accumulate(growth - log_capital, axis=0)
    return np.asarray(np.logaddexp.reduce(log_capital + starts, axis=-1) - math.log(HORIZON * growth.shape[-1]))


def evidence_of_change(runs: Sequence[SentinelRun]) -> ChangeEvidence:
    """Test whether the service changed; `runs` are the runs of one test in their order, at least one."""
    keys = sorted(runs[0].outcomes)  # of the cases that are asked again
    outcomes_by_row = [runs[0].reference, *(run.outcomes for run in runs)]  # row 0: the reference; row n: the n-th run
    history = np.array([[row.get(key) for key in keys] for row in outcomes_by_row], dtype=float)  # `None` becomes NaN
    ranks = [
        smoothed_ranks(history[:run_count].T, history[run_count], generator(run.seed).random(len(keys)))
        for run_count, run in enumerate(runs, start=1)
    ]
    growth = log_growth(np.stack(ranks))
    log_e = log_e_process(growth)
    alarms = np.flatnonzero(log_e >= -math.log(ALPHA))
    if not len(alarms):
        return ChangeEvidence(float(log_e[-1]), since=None)
    # for each run up to the first alarm, the growth of the best bet from this run to the alarm
    gains = np.cumsum(growth[alarms[0] :: -1], axis=0)[::-1].max(axis=-1)
    return ChangeEvidence(float(log_e[-1]), since=int(np.argmax(gains)))


def asked_again(
    experiment: Experiment, records: Mapping[str, Observation], is_sentinel: Callable[[Probe], bool], finding: Finding
) -> Experiment:
    """Run a rating's experiment again: yield the probes of sentinels (cases to ask again); others get recorded replies.

    A probe without a recorded reply fails as if the budget were used up, and repeated questions are not asked. The
    experiment ends with `finding` once the recorded probes of all sentinels were asked.
    """
    missing_reply = Reply(failure=Failure(BUDGET, "this question is no sentinel, and was not recorded"))
    replies = {unit: observation.reply for unit, observation in records.items()}
    waiting_units = {unit for unit in records if REPEATED not in unit and is_sentinel(records[unit].probe)}
    batch = next(experiment, ())
    while batch and waiting_units:
        sentinel_probes = [probe for probe in batch if REPEATED not in probe.unit and is_sentinel(probe)]
        if sentinel_probes:
            new_replies = yield sentinel_probes
            replies |= zip((probe.unit for probe in sentinel_probes), new_replies, strict=True)
        waiting_units -= {probe.unit for probe in sentinel_probes}
        try:
            batch = experiment.send([replies.get(probe.unit, missing_reply) for probe in batch])
        except StopIteration:
            break
    experiment.close()
    return finding
