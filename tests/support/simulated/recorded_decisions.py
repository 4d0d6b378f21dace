"""Simulated files of recorded decisions whose fair and unfair parts are known, for the method `outcomes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from scipy import stats

from assay.document import EffectDocument
from assay.experiment import run
from assay.methods import Outcomes
from assay.methods.outcomes.detail import OutcomesComponent
from assay.methods.shared.outcome_tables.decision_table import DecisionTable
from assay.methods.shared.outcome_tables.rates import ERROR_RATES
from assay.model import Component, Finding, Interval, Letter, Reply
from tests.support.simulated.base import SimulatedService, letter_of

YES_NO = ("no", "yes")


def coded(answers: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return truth values as the codes of a column with "no" and "yes"."""
    return YES_NO, np.asarray(answers).astype(np.int64)


def groups_of(labels: int, members: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return groups as the codes of a column."""
    return tuple(f"group {label}" for label in range(labels)), np.asarray(members, dtype=np.int64)


def counted(columns: Mapping[str, Sequence[str]], scores: Sequence[float] | None = None, **more: Any) -> DecisionTable:
    """Return the table of a file that is given as columns of texts; an empty text is unknown."""
    codes = {}
    for name, cells in columns.items():
        values = sorted({*cells} - {""})
        codes[name] = values, np.array([values.index(cell) if cell else -1 for cell in cells])
    return DecisionTable.counted("sha256:test", codes, None if scores is None else np.array(scores, float), **more)


def people(**counts: tuple[int, int]) -> DecisionTable:
    """Return a table of groups with their favourable decisions and their people: ``people(A=(480, 980))``."""
    group = [name for name, (_, total) in counts.items() for _ in range(total)]
    hired = [answer for yes, total in counts.values() for answer in ["yes"] * yes + ["no"] * (total - yes)]
    return counted({"group": group, "hired": hired})


@dataclass(frozen=True)
class People:
    """People of a simulated file; ``None`` for what is not recorded."""

    group: np.ndarray
    hired: np.ndarray
    groups: int
    truth: np.ndarray | None = None
    job: np.ndarray | None = None
    score: np.ndarray | None = None
    cluster: np.ndarray | None = None
    weight: np.ndarray | None = None

    def rated_by(self, **fields: Any) -> Outcomes:
        """Return the method with these people as its table."""
        columns = {"group": groups_of(self.groups, self.group), "hired": coded(self.hired)}
        if self.truth is not None:
            columns["stayed"] = coded(self.truth)
        if self.job is not None:
            columns["job"] = (tuple(f"job {job}" for job in range(int(self.job.max()) + 1)), self.job)
        table = DecisionTable.counted("sha256:simulated", columns, self.score, self.cluster, self.weight)
        named = {
            "truth": "" if self.truth is None else "stayed",
            "strata": () if self.job is None else ("job",),
            "score": "" if self.score is None else "score",
            "cluster": "" if self.cluster is None else "cluster",
            "weight": "" if self.weight is None else "weight",
        }
        return Outcomes(by=("group",), decision="hired", favourable="yes", **(named | fields), table=table)


Make = Callable[..., People]
"""Function that draws people; its second argument multiplies the unfair part of their decisions."""

CELLS = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True)
class Population:
    """The people from whom the files of a `FileWorld` are sampled.

    Attributes
    ----------
    cells : ndarray, shape (groups, 4)
        Probability of each decision and truth in each group, in the order of `CELLS`; without a truth, all are right.
    step_1, step_2 : float or None
        Effects, if they do not follow from `cells`.
    """

    cells: np.ndarray
    step_1: float | None = None

    @cached_property
    def rates(self) -> np.ndarray:
        """Rate of favourable decisions of each group."""
        return np.asarray(self.cells[:, :2].sum(axis=1))

    def error_rates(self, name: str) -> np.ndarray:
        """Return an error rate of each group."""
        top, bottom = (self.cells[:, [CELLS.index(cell) for cell in cells.split()]] for cells in ERROR_RATES[name])
        return np.asarray(top.sum(axis=1) / bottom.sum(axis=1))

    @property
    def effects(self) -> Mapping[str, float]:
        """Both effects."""
        step_1 = max(np.ptp(self.error_rates("tpr")), np.ptp(self.error_rates("fpr"))) if self.step_1 is None else 0.0
        return {"step_1": self.step_1 or float(step_1), "step_2": float(np.ptp(self.rates))}

    def held(self, component: Component) -> Iterator[tuple[str, bool]]:
        """Yield the kind of each stated interval, and whether it contains the true number of the population."""
        for step, effect in self.effects.items():
            yield from _held(step, component.effects.get(step), effect)
        detail = component.detail
        assert isinstance(detail, OutcomesComponent)
        index_of = {row.group: int((row.group or "").split()[1]) for row in detail.groups}
        for row in detail.groups:
            index, reference = index_of[row.group], index_of.get(detail.reference, 0)
            yield from _held("rate", row.rate, self.rates[index])
            for name, interval in row.error_rates.items():
                yield from _held("error rate", interval, self.error_rates(name)[index])
            yield from _held("difference", row.difference, self.rates[index] - self.rates[reference])
            yield from _held("ratio", row.ratio, self.rates[index] / self.rates[reference])


def _held(kind: str, interval: Interval | EffectDocument | None, number: float) -> Iterator[tuple[str, bool]]:
    if interval is not None and interval.low is not None and interval.high is not None:
        yield kind, bool(interval.low - 1e-9 <= number <= interval.high + 1e-9)


@dataclass(frozen=True)
class FileWorld:
    """Files of decisions with known effects; `deserves` are the letters that may be declared."""

    make: Make
    deserves: frozenset[Letter]
    fields: Mapping[str, object] | None = None

    @property
    def population(self) -> Population:
        """The people whom its files are drawn from."""
        draw, options = (self.make.func, self.make.keywords) if isinstance(self.make, partial) else (self.make, {})
        sample_only = {"people", "clusters", "members", "mixed", "shares", "weights"}
        return POPULATIONS[draw](**{name: option for name, option in options.items() if name not in sample_only})

    def deserved(self, size: float) -> frozenset[Letter]:  # noqa: ARG002 - same signature as other worlds
        """Return the letters that may be declared."""
        return self.deserves

    def rate(self, seed: int, size: float = 1.0) -> Finding:
        """Rate the file of a seed."""
        people = self.make(np.random.default_rng([seed, 34]), size)
        return run(people.rated_by(**(self.fields or {})), never_asked, seed)


def never_asked(_: object) -> Reply:
    """Fail, because recorded decisions are rated without a question."""
    raise AssertionError("recorded decisions are rated without a question")


def by_truth(
    rng: np.random.Generator,
    size: float,
    *,
    people: int = 8000,
    base: tuple[float, ...] = (0.5, 0.5),
    right: tuple[float, ...] = (0.7, 0.7),
    wrong: tuple[float, ...] = (0.2, 0.2),
    shares: tuple[float, ...] | None = None,
    weights: float = 0.0,
) -> People:
    """Draw people whose truth has the rates `base`, and decisions with given true- and false-positive rates.

    `weights` is the standard deviation of the logarithm of people's random weights; 0 stands for no weights.
    """
    count = len(base)
    group = rng.choice(count, people, p=shares)
    truth = rng.random(people) < np.array(base)[group]
    first_right, first_wrong = right[0], wrong[0]
    rates = np.where(
        truth,
        first_right + size * (np.array(right) - first_right)[group],
        first_wrong + size * (np.array(wrong) - first_wrong)[group],
    )
    hired = rng.random(people) < rates
    weight = np.round(rng.lognormal(0, weights, people), 1) + 0.1 if weights else None
    return People(group, hired, count, truth=truth, weight=weight)


def by_job(
    rng: np.random.Generator,
    size: float,
    *,
    people: int = 6000,
    rates: tuple[float, ...] = (0.2, 0.5, 0.7),
    tied: float = 0.0,
    gaps: tuple[float, ...] = (0.0, 0.0, 0.0),
) -> People:
    """Draw two groups of applicants; `tied` moves the second to the last job, `gaps` are differences within jobs."""
    group = rng.choice(2, people)
    jobs = len(rates)
    leaning = np.linspace(-tied, tied, jobs)
    shares = np.array([np.full(jobs, 1 / jobs) - leaning / jobs, np.full(jobs, 1 / jobs) + leaning / jobs])
    job = (rng.random(people)[:, None] > shares.cumsum(axis=1)[group]).sum(axis=1).clip(0, jobs - 1)
    chance = np.array(rates)[job] + size * np.array(gaps)[job] * (group - 0.5)
    return People(group, rng.random(people) < chance, 2, job=job)


def by_cluster(
    rng: np.random.Generator,
    size: float,
    *,
    clusters: int = 60,
    members: int = 60,
    spread: float = 0.15,
    gap: float = 0.0,
    mixed: bool = True,
    base: tuple[float, ...] = (0.5, 0.5),
) -> People:
    """Draw people of employers whose rates have standard deviation `spread`; if `mixed`, employers have all groups."""
    cluster, count = np.repeat(np.arange(clusters), members), len(base)
    group = (
        rng.choice(count, len(cluster)) if mixed else np.repeat(rng.permutation(np.arange(clusters) % count), members)
    )
    truth = rng.random(len(cluster)) < np.array(base)[group]
    level = rng.normal(0, spread, clusters)[cluster] + np.where(truth, 0.6, 0.3) + size * gap * (group - 0.5)
    return People(group, rng.random(len(cluster)) < np.clip(level, 0, 1), count, truth=truth, cluster=cluster)


def calibrated(rng: np.random.Generator, size: float, *, people: int = 20_000) -> People:
    """Draw scores that equal the true probability in both groups, whose base rates differ; decide at a threshold."""
    group = rng.choice(2, people)
    a, b = np.array([3.0, 3.0 + 2 * size])[group], np.array([4.0, 3.0])[group]
    score = np.round(rng.beta(a, b), 2)
    return People(group, score >= 0.5, 2, truth=rng.random(people) < score, score=score)


def biased_truth(rng: np.random.Generator, size: float, *, people: int = 12_000) -> People:
    """Draw equally able groups of which one has fewer recorded successes; decisions depend on these records only."""
    group = rng.choice(2, people)
    able = rng.random(people) < 0.5
    truth = able & (rng.random(people) > size * np.array([0.0, 0.3])[group])
    return People(group, rng.random(people) < np.where(truth, 0.8, 0.2), 2, truth=truth)


# ---------------------------------------------------------------------------- the same, as numbers
def population_by_truth(
    base: Sequence[float] = (0.5, 0.5), right: Sequence[float] = (0.7, 0.7), wrong: Sequence[float] = (0.2, 0.2)
) -> Population:
    """Return the population of `by_truth`."""
    proved, tpr, fpr = np.array(base), np.array(right), np.array(wrong)
    cells = [proved * tpr, (1 - proved) * fpr, proved * (1 - tpr), (1 - proved) * (1 - fpr)]
    return Population(np.stack(cells, axis=1))


def population_by_job(
    rates: Sequence[float] = (0.2, 0.5, 0.7), tied: float = 0.0, gaps: Sequence[float] = (0.0, 0.0, 0.0)
) -> Population:
    """Return the population of `by_job`; step 1 is the difference of Mantel and Haenszel."""
    leaning = np.linspace(-tied, tied, len(rates))
    shares = np.stack([1 - leaning, 1 + leaning]) / len(rates)
    yes = np.array([(shares[group] * (np.array(rates) + np.array(gaps) * (group - 0.5))).sum() for group in (0, 1)])
    weights = shares.prod(axis=0) / shares.sum(axis=0)
    nobody = np.zeros(2)
    return Population(np.stack([yes, nobody, nobody, 1 - yes], axis=1), abs(float(weights @ gaps / weights.sum())))


@cache
def population_by_cluster(spread: float = 0.15, gap: float = 0.0, base: tuple[float, ...] = (0.5, 0.5)) -> Population:
    """Return the population of `by_cluster`: the mean of a normal variable that is cut off at 0 and 1."""

    def mean(level: float) -> float:
        return float(stats.norm(level, spread).expect(lambda rate: np.clip(rate, 0, 1)))

    right, wrong = ([mean(level + gap * (group - 0.5)) for group in range(len(base))] for level in (0.6, 0.3))
    return population_by_truth(base, right, wrong)


def population_of_calibrated() -> Population:
    """Return the population of `calibrated`, by the probability of each rounded score."""
    scores, halves = np.arange(101) / 100, (np.arange(102) - 0.5) / 100
    mass = np.stack([np.diff(stats.beta(a, b).cdf(halves)) for a, b in ((3.0, 4.0), (5.0, 3.0))])
    yes = scores >= 0.5
    cells = [scores * yes, (1 - scores) * yes, scores * ~yes, (1 - scores) * ~yes]
    return Population(np.stack([(mass * cell).sum(axis=1) for cell in cells], axis=1))


POPULATIONS: Mapping[Make, Callable[..., Population]] = {
    by_truth: population_by_truth,
    by_job: population_by_job,
    by_cluster: population_by_cluster,
    calibrated: population_of_calibrated,
    biased_truth: lambda: population_by_truth((0.5, 0.35), (0.8, 0.8), (0.2, 0.2)),
}
"""Function that returns the population of each way to draw people, from the same options."""

FAIR = frozenset({Letter.UCS})
DATA = frozenset({Letter.DSBS})
UNFAIR = frozenset({Letter.BS})
SAME = (0.5,) * 14

FILES: Mapping[str, FileWorld] = {
    "even, two groups": FileWorld(by_truth, FAIR),
    "even, rare yes": FileWorld(partial(by_truth, right=(0.03, 0.03), wrong=(0.01, 0.01)), FAIR),
    "even, 14 groups of 100": FileWorld(
        partial(by_truth, people=1400, base=SAME, right=(0.5,) * 14, wrong=(0.5,) * 14), FAIR
    ),
    "even, 14 groups of 1,000": FileWorld(
        partial(by_truth, people=14_000, base=SAME, right=(0.5,) * 14, wrong=(0.5,) * 14), FAIR
    ),
    "even, five groups of unequal size": FileWorld(
        partial(by_truth, base=(0.4,) * 5, right=(0.6,) * 5, wrong=(0.3,) * 5, shares=(0.5, 0.25, 0.15, 0.08, 0.02)),
        FAIR,
    ),
    "even, 14 groups of 70, rare yes": FileWorld(
        partial(by_truth, people=980, base=SAME, right=(0.1,) * 14, wrong=(0.1,) * 14), FAIR
    ),
    "even, three groups, very rare yes": FileWorld(
        partial(by_truth, people=3000, base=(0.5,) * 3, right=(0.02,) * 3, wrong=(0.02,) * 3), FAIR
    ),
    "even, weights": FileWorld(partial(by_truth, weights=1.0), FAIR),
    "half a tolerance among alike, two groups of 40": FileWorld(
        partial(by_truth, people=160, right=(0.7, 0.675), wrong=(0.2, 0.175)), FAIR
    ),
    "half a tolerance among alike, 300 people": FileWorld(
        partial(by_truth, people=300, right=(0.7, 0.675), wrong=(0.2, 0.175)), FAIR
    ),
    "base rates differ, decisions follow the truth": FileWorld(partial(by_truth, people=12_000, base=(0.6, 0.3)), DATA),
    "base rates differ in five groups": FileWorld(
        partial(by_truth, people=20_000, base=(0.7, 0.6, 0.5, 0.4, 0.3), right=(0.8,) * 5, wrong=(0.2,) * 5),
        DATA,
    ),
    "twice the tolerance among the right": FileWorld(partial(by_truth, right=(0.7, 0.6)), UNFAIR),
    "twice the tolerance among the wrong": FileWorld(partial(by_truth, wrong=(0.2, 0.3)), UNFAIR),
    "opposite errors that cancel": FileWorld(partial(by_truth, right=(0.8, 0.65), wrong=(0.1, 0.25)), UNFAIR),
    "one of 14 groups at four tolerances": FileWorld(
        partial(by_truth, people=14_000, base=SAME, right=(0.6,) * 13 + (0.4,), wrong=(0.3,) * 14), UNFAIR
    ),
    "rare yes, one group a third": FileWorld(
        partial(by_truth, people=20_000, base=(0.1, 0.1), right=(0.3, 0.1), wrong=(0.01, 0.01)), UNFAIR
    ),
    "even in every job": FileWorld(by_job, FAIR),
    "even in every job, groups apply for different jobs": FileWorld(partial(by_job, people=12_000, tied=0.8), DATA),
    "uneven in every job": FileWorld(partial(by_job, gaps=(0.15, 0.15, 0.15)), UNFAIR),
    "opposite in two jobs": FileWorld(partial(by_job, people=12_000, gaps=(0.2, 0.0, -0.2)), UNFAIR),
    "even, clusters of both groups": FileWorld(by_cluster, FAIR),
    "even, clusters of one group": FileWorld(partial(by_cluster, mixed=False), FAIR),
    "even, twelve clusters of one group": FileWorld(partial(by_cluster, clusters=12, members=300, mixed=False), FAIR),
    "even, five groups in clusters": FileWorld(partial(by_cluster, clusters=80, base=(0.5,) * 5), FAIR),
    "even, 600 clusters": FileWorld(partial(by_cluster, clusters=600, members=12), FAIR),
    "uneven, clusters of both groups": FileWorld(partial(by_cluster, members=120, gap=0.2), UNFAIR),
    "calibrated score, unequal errors": FileWorld(calibrated, UNFAIR),
    "truth that is itself biased": FileWorld(biased_truth, DATA),
}
"""Files by name."""


def file_service(step_1: float, step_2: float, seed: int) -> SimulatedService:
    """Make a file of decisions: the second group's rates among people alike are `step_1` less.

    The truth has different base rates in both groups, so that outcomes differ by `step_2` among all people.
    """
    rng = np.random.default_rng([seed, 35])
    # with rates of .7 and .2, a difference of base rates is halved in the outcomes
    people = by_truth(
        rng,
        1.0,
        people=16_000,
        base=(0.5 + step_2 - step_1, 0.5 - step_2 + step_1),
        right=(0.75, 0.75 - step_1),
        wrong=(0.25, 0.25 - step_1),
    )
    method = people.rated_by()
    came = abs((0.25 + 0.5 * (0.5 + step_2 - step_1)) - (0.25 - step_1 + 0.5 * (0.5 - step_2 + step_1)))
    truths = {"effects.step_1": abs(step_1), "effects.step_2": came}
    return SimulatedService(method, never_asked, letter_of(abs(step_1), came, method.delta), truths)
