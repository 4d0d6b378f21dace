"""Sentinels: ranks and bets with known answers, false alarms and delays of simulated services, replays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from assay.experiment import Session, generator
from assay.model import Finding, Observation, Probe, Reply, Translate
from assay.rating.sentinels import (
    ALPHA,
    BETS,
    HORIZON,
    SentinelRun,
    asked_again,
    choose_sentinels,
    evidence_of_change,
    log_e_process,
    log_growth,
    smoothed_ranks,
)

POOL = 400
"""Cases of a simulated rating."""

DELTA = 0.1
"""Tolerance of a simulated rating."""


# ---------------------------------------------------------------------------- known answers
def test_the_rank_of_an_outcome_counts_lower_earlier_outcomes_and_a_random_share_of_equal_ones():
    history = np.array([[0.1, 0.2, 0.3, np.nan], [1.0, 1.0, 0.0, 2.0], [np.nan] * 4, [0.0, 0.0, 0.0, 0.0]])
    ranks = smoothed_ranks(history, np.array([0.25, 1.0, 0.0, np.nan]), np.array([0.5, 0.25, 0.5, 0.5]))
    # two of three are lower, and half of itself; one of four is lower, and a quarter of three equal ones
    assert ranks[:2].tolist() == pytest.approx([2.5 / 4, 1.75 / 5])
    assert np.isnan(ranks[2:]).all(), "no earlier outcome, and a lost one"


def test_the_e_value_of_two_runs_is_that_computed_by_hand():
    # a single case whose ranks are 1/2 and then 1/20: within every tail of .08 and .25 at the low end only
    growth = np.stack([log_growth(np.array([0.5])), log_growth(np.array([0.05]))])
    first, second = [], []
    for tail, stake in BETS * 2:
        first.append(1 - stake)
        second.append(1 - stake + stake / tail)
    second[len(BETS) :] = first[len(BETS) :]
    expected = sum(a * b + b for a, b in zip(first, second, strict=True)) / (HORIZON * len(first))
    # .9 and .7 of the first run; 2.15 and 4.45 of the tail .08, 1.3 and 1.9 of the tail .25
    low = (0.9 + 1) * (2.15 + 1.3) + (0.7 + 1) * (4.45 + 1.9)
    assert expected == pytest.approx((low + 2 * (0.9**2 + 0.9 + 0.7**2 + 0.7)) / 720)
    assert math.exp(log_e_process(growth)[-1]) == pytest.approx(expected, rel=1e-12)


def test_every_bet_of_the_test_for_change_has_expected_growth_one_for_uniform_ranks():
    grid = (np.arange(10_000) + 0.5) / 10_000
    assert np.exp(log_growth(grid[:, None])).mean(axis=0) == pytest.approx(np.ones(2 * len(BETS)), abs=1e-9)


def test_a_test_for_change_refuses_more_runs_than_its_error_guarantee_covers():
    with pytest.raises(ValueError, match="at most 90 runs"):
        log_e_process(np.zeros((HORIZON + 1, 8)))


# ---------------------------------------------------------------------------- choice of cases
def test_three_quarters_of_sentinel_cases_are_drawn_from_all_cases_and_the_rest_are_the_most_telling_others():
    keys = [f"case {number}" for number in range(100)]
    chosen = choose_sentinels(keys, 40, generator(3))
    assert (len(chosen.fresh), len(chosen.telling)) == (30, 10)
    assert chosen.telling == tuple(key for key in keys if key not in chosen.fresh)[:10]
    assert chosen == choose_sentinels(keys, 40, generator(3))
    assert chosen != choose_sentinels(keys, 40, generator(4))


@pytest.mark.parametrize(("cases", "count"), [(0, 40), (1, 40), (7, 40), (40, 40)])
def test_all_cases_become_sentinels_if_there_are_no_more_than_requested(cases, count):
    keys = [f"case {number}" for number in range(cases)]
    chosen = choose_sentinels(keys, count, generator(0))
    assert sorted((*chosen.fresh, *chosen.telling)) == sorted(keys)


# ---------------------------------------------------------------------------- runs of one watch
def runs_of(outcomes: np.ndarray, seed: int = 0) -> list[SentinelRun]:
    """Return runs with the outcomes of an array of shape (runs, cases)."""
    return [
        SentinelRun(seed + day, {f"case {at:02}": None if math.isnan(y) else float(y) for at, y in enumerate(row)})
        for day, row in enumerate(outcomes)
    ]


def test_a_shift_in_the_outcomes_of_all_sentinel_cases_is_noticed_and_dated():
    outcomes = np.random.default_rng(1).normal(0, 0.1, (20, 40))
    outcomes[15:] += 0.2
    evidence = evidence_of_change(runs_of(outcomes))
    assert evidence.since == 15
    assert evidence_of_change(runs_of(outcomes[:15])).since is None


def test_an_alarm_about_a_change_stays_after_the_service_returns_to_its_earlier_behaviour():
    outcomes = np.random.default_rng(1).normal(0, 0.1, (30, 40))
    outcomes[15:20] += 0.2
    assert evidence_of_change(runs_of(outcomes)).since is not None


def test_negating_all_outcomes_does_not_change_the_evidence_of_a_change():
    outcomes = np.random.default_rng(2).normal(0, 0.1, (1, 12, 40))
    outcomes[:, 8:] += 0.1
    uniforms = np.random.default_rng(3).random((12, 40))

    def e_process(signed: np.ndarray, random: np.ndarray) -> np.ndarray:
        days = [smoothed_ranks(signed[0, :day].T, signed[0, day], random[day]) for day in range(1, 12)]
        return log_e_process(np.stack([log_growth(ranks) for ranks in days]))

    assert e_process(outcomes, uniforms) == pytest.approx(e_process(-outcomes, 1 - uniforms), abs=1e-9)


def test_the_same_runs_give_the_same_evidence_bit_for_bit_and_the_order_of_cases_does_not_matter():
    runs = runs_of(np.random.default_rng(4).choice([-1.0, 0.0, 1.0], (25, 40)))
    turned = [SentinelRun(run.seed, dict(reversed(run.outcomes.items()))) for run in runs]
    assert evidence_of_change(runs) == evidence_of_change(turned)
    assert evidence_of_change(runs).log_e.hex() == evidence_of_change(runs).log_e.hex()


def test_lost_answers_are_evidence_neither_for_nor_against_a_change_of_the_service():
    outcomes = np.random.default_rng(5).normal(0, 0.1, (12, 40))
    outcomes[10, :] = np.nan
    lost = evidence_of_change(runs_of(outcomes[:11]))
    before = evidence_of_change(runs_of(outcomes[:10]))
    # the lost run wins and loses nothing; the bets on a change that it begins have their initial capital
    assert math.exp(lost.log_e) == pytest.approx(math.exp(before.log_e) + 1 / HORIZON, rel=1e-12)
    assert lost.since is None
    everything_lost = evidence_of_change(runs_of(np.full((60, 40), np.nan)))
    assert everything_lost.since is None
    assert everything_lost.log_e == pytest.approx(math.log(60 / HORIZON))


def test_answers_of_the_original_rating_add_evidence_of_a_change_for_randomly_drawn_cases():
    outcomes = {f"case {at:02}": 1.0 for at in range(40)}
    alone = evidence_of_change([SentinelRun(0, outcomes)])
    compared = evidence_of_change([SentinelRun(0, outcomes, dict.fromkeys(outcomes, 0.0))])
    assert alone.log_e == pytest.approx(math.log(1 / HORIZON))
    assert compared.log_e > alone.log_e + 1


# ---------------------------------------------------------------------------- questions
def test_only_sentinel_questions_are_asked_again_and_all_others_get_their_recorded_replies():
    seen: list[list[str]] = []

    def design():
        for round_number in range(3):
            probes = [Probe(f"{name}/{round_number}", Translate(f"{name}{round_number}", "en", "es")) for name in "abc"]
            replies = yield probes
            seen.append([str(reply.value) for reply in replies])
        return Finding("m", "gender", (), 0.95, 0.1)

    probes = [
        Probe(f"{name}/{number}", Translate(f"{name}{number}", "en", "es")) for name in "abc" for number in range(2)
    ]
    recorded = {probe.unit: Observation(probe, Reply(f"old {probe.unit}")) for probe in probes}
    finding = Finding("watch", "gender", (), 0.95, 0.1)
    experiment = asked_again(design(), recorded, lambda probe: probe.unit.startswith("b"), finding)
    session = Session(experiment)
    sent = []
    while session.finding is None:
        for probe in session.missing:
            sent.append(probe.unit)
            session.accept(probe, Reply(f"new {probe.unit}"))
        session.advance()
    assert session.finding is finding
    assert sent == ["b/0", "b/1"], "nothing beyond the record of the rating is asked"
    assert seen == [["old a/0", "new b/0", "old c/0"], ["old a/1", "new b/1", "old c/1"]]


# ---------------------------------------------------------------------------- simulated services
Draw = Callable[[np.random.Generator, np.ndarray, bool], np.ndarray]
"""Draws outcomes of cases (their numbers by service), before or after the service's change."""


@dataclass(frozen=True)
class Kind:
    """A kind of simulated services; `make` returns the outcomes of `services` of them, with their own cases."""

    name: str
    make: Callable[[np.random.Generator, int], Draw]


def scores(bias: float) -> Callable[[np.random.Generator, int], Draw]:
    """Differences of scores with noise; after the change, all are larger by twice the tolerance."""

    def make(rng: np.random.Generator, services: int) -> Draw:
        means = rng.normal(bias, 0.2, (services, POOL))
        return lambda rng, cases, changed: np.clip(
            np.take_along_axis(means, cases, 1) + 2 * DELTA * changed + rng.normal(0, 0.1, cases.shape), -1, 1
        )

    return make


def labels(bias: float) -> Callable[[np.random.Generator, int], Draw]:
    """Differences of labels without noise; after the change, some turn upwards: the mean by twice the tolerance."""

    def make(rng: np.random.Generator, services: int) -> Draw:
        before = rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9 - bias, 0.05 + bias], size=(services, POOL))
        turned = rng.random(before.shape) < 2 * DELTA / (before < 1).mean()
        after = np.where(turned, np.minimum(before + 1, 1), before)
        return lambda _, cases, changed: np.take_along_axis(after if changed else before, cases, 1)

    return make


def wavering(bias: float) -> Callable[[np.random.Generator, int], Draw]:
    """Differences of labels that some cases change each time."""

    def make(rng: np.random.Generator, services: int) -> Draw:
        share = rng.beta(1, 4, (services, POOL))

        def draw(rng: np.random.Generator, cases: np.ndarray, changed: bool) -> np.ndarray:
            flips, uniform = np.take_along_axis(share, cases, 1), rng.random(cases.shape)
            low = flips * (0.5 - bias)
            outcomes = np.where(uniform < low, -1.0, np.where(uniform < flips, 1.0, 0.0))
            turned = changed & (rng.random(cases.shape) < 2 * DELTA / (1 - 0.2 * (0.5 + bias)))
            return np.where(turned, np.minimum(outcomes + 1, 1), outcomes)

        return draw

    return make


def coins(bias: float) -> Callable[[np.random.Generator, int], Draw]:
    """Choices as noisy as coins."""

    def make(rng: np.random.Generator, services: int) -> Draw:
        first = np.clip(rng.beta(5, 5, (services, POOL)) + bias, 0, 1)
        return lambda rng, cases, changed: np.where(
            rng.random(cases.shape) < np.take_along_axis(first, cases, 1) + DELTA * changed, 1.0, -1.0
        )

    return make


KINDS = [
    Kind("even scores", scores(0.0)),
    Kind("biased scores", scores(0.3)),
    Kind("even labels", labels(0.0)),
    Kind("biased labels", labels(0.3)),
    Kind("even, wavering", wavering(0.0)),
    Kind("biased, wavering", wavering(0.3)),
    Kind("even coins", coins(0.0)),
    Kind("biased coins", coins(0.2)),
]


def alarms(kind: Kind, services: int, *, days: int, change: int | None, count: int = 40, seed: int = 0) -> np.ndarray:
    """Return the day of each service's alarm, `days` without one; a rating selects the telling cases first."""
    rng = np.random.default_rng(seed)
    draw = kind.make(rng, services)
    rated = draw(rng, np.tile(np.arange(POOL), (services, 1)), False)
    chosen = [
        choose_sentinels(list(map(str, np.argsort(-np.abs(row), kind="stable"))), count, generator(int(seed)))
        for row, seed in zip(rated, rng.integers(2**32, size=services), strict=True)
    ]
    cases = np.array([[int(key) for key in (*one.fresh, *one.telling)] for one in chosen])
    history = np.full((services, count, days + 1), np.nan, np.float32)
    fresh = len(chosen[0].fresh)
    history[:, :fresh, 0] = np.take_along_axis(rated, cases[:, :fresh], 1)
    growth = []
    for day in range(days):
        outcomes = draw(rng, cases, change is not None and day >= change).astype(np.float32)
        growth.append(log_growth(smoothed_ranks(history[..., : day + 1], outcomes, rng.random(outcomes.shape))))
        history[..., day + 1] = outcomes
    noticed = log_e_process(np.stack(growth)) >= -math.log(ALPHA)
    return np.where(noticed.any(axis=0), noticed.argmax(axis=0), days)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_unchanged_service_is_rarely_called_changed_within_90_days(kind):
    false = (alarms(kind, 150, days=HORIZON, change=None) < HORIZON).sum()
    assert false <= 14  # 5 % of 150 are 7.5; binomially, more than 14 have a probability of .01


@pytest.mark.slow
@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3], KINDS[5], KINDS[6]], ids=lambda kind: kind.name)
def test_at_most_1_in_20_of_10_000_unchanged_services_is_called_changed_within_90_days(kind):
    false = sum((alarms(kind, 500, days=HORIZON, change=None, seed=at) < HORIZON).sum() for at in range(20))
    assert false <= ALPHA * 10_000


@pytest.mark.parametrize("kind", KINDS[:6], ids=lambda kind: kind.name)
@pytest.mark.parametrize("change", [21, 60])
def test_a_change_of_twice_the_tolerance_is_noticed_in_a_median_of_5_days(kind, change):
    delays = alarms(kind, 100, days=change + 20, change=change) - change + 1
    assert np.median(delays) <= 5
    assert (delays < 1).mean() <= ALPHA


def test_regression_to_the_mean_of_selected_cases_is_not_reported_as_a_change():
    # the most telling of noisy cases alone: their answers in the rating were selected, and never come back
    kind = Kind("even coins", coins(0.0))
    rng = np.random.default_rng(8)
    draw = kind.make(rng, 1)
    rated = draw(rng, np.arange(POOL)[None], False)[0]
    telling = np.argsort(-rated)[:40]
    runs = [
        SentinelRun(
            day, {f"case {at:03}": float(y) for at, y in zip(telling, draw(rng, telling[None], False)[0], strict=True)}
        )
        for day in range(60)
    ]
    assert np.mean(list(runs[0].outcomes.values())) < rated[telling].mean() - 0.5
    assert evidence_of_change(runs).since is None
    # the same comparison with the answers that selected the cases would call the service changed at once
    naive = {f"case {at:03}": float(rated[at]) for at in telling}
    biased = [SentinelRun(run.seed, run.outcomes, naive) for run in runs]
    assert evidence_of_change(biased).log_e > evidence_of_change(runs).log_e
