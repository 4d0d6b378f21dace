"""Component and letter from the replies to generated inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from assay.errors import EvidenceError
from assay.methods.shared.answer_tally import Tally
from assay.methods.stimulus_sampling.texts import TextsHeard
from assay.methods.stimulus_sampling.vectors import CellsHeard
from assay.model import Component, Evidence, HiddenEffect, Letter, Reason
from assay.rating.component import Measurement, Tolerance
from assay.rating.losses import hidden_as_json, loss_effect, losses_as_json, lost_replies
from assay.statistics.bayes.importance import HEAVY
from assay.statistics.hidden.chance import may_be_chance
from assay.statistics.hidden.strata import share_effects
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.crossed import LEAST_CLUSTERS
from assay.statistics.intervals.sampling_effects import Deviations, SamplingEffects


@dataclass(frozen=True)
class Rules:
    """Fields of `StimulusSampling` that decide what is computed.

    `tie` is the share of one side of the contents that a value has in a tied prior. `rarer`: either of two labels may
    count as yes, so within a side, inputs without a yes are judged, too, if they are rarer.
    """

    tie: float
    strata: bool
    delta_loss: float | None
    rarer: bool


LEAST_YES = 20
"""Minimum effective number of inputs that get a yes."""

LEAST_RATE, LEAST_PART = 0.02, 0.1
"""A side with a smaller share of yes, which is also a smaller part of the other side's, is not judged by itself."""

LEAST_OF_CELL = 10
"""Minimum effective number of inputs that get a yes for each cell of the prior of vectors, on average (since 1.3.0)."""


def judge(
    heard: TextsHeard | CellsHeard,
    tally: Tally,
    tolerance: Tolerance,
    rules: Rules,
    detail: dict[str, Any],
    rng: np.random.Generator,
    *,
    brief: bool,
) -> Component:
    """Judge sentences or vectors; if `brief`, leave out the details beside the letter."""
    drawing, showing = rng.spawn(2)
    detail = detail | {"weights": heard.weights.as_json(), **heard.clusters, "estimand": heard.estimand}
    measurement = Measurement(heard.label, tally.counts, tolerance, detail)
    try:
        effects = heard.effects(rules.tie, drawing, within=_judged_sides(heard) if rules.strata else ())
    except EvidenceError as error:
        return measurement.impossible(error)
    measurement.detail |= _distribution(effects, heard)
    if not brief:
        measurement.detail |= heard.resemblance.as_json(showing)
    if (why := _too_little(heard, strata=rules.strata)) is not None:
        return measurement.give_up(why, seen=effects.intervals())
    own = rng.spawn(1)[0]
    hidden = loss_effect(tally.by_group, rules.delta_loss, tolerance.confidence, own)
    if effects.within:
        hidden += _within_sides(heard, effects, rules, tolerance.delta, own)
    measurement.detail |= hidden_as_json(hidden) | losses_as_json(tally.by_group, rules.delta_loss)
    even, tied = effects.even.drawn, np.hstack(effects.halves)
    evidence = Evidence(
        effects.step_1, effects.step_2, hidden=hidden, chance_1=may_be_chance(even), chance_2=may_be_chance(tied)
    )
    # how much a value's share of the yes answers would grow if every lost reply were a yes for that value
    share = tally.lost / max(1, tally.counts.asked)
    most = share / (share + float(heard.rates.mean(axis=1).sum()))
    return measurement.conclude(
        evidence,
        lambda letter: _why(letter, heard, effects),
        effects.intervals(),
        lost=lost_replies(tally.by_group, rules.delta_loss, most, most),
    )


def _judged_sides(heard: TextsHeard | CellsHeard) -> list[int]:
    """Return the sides where a yes is not negligible; elsewhere next to nobody gets one, whatever the group.

    What counts is the largest yes rate of a value on that side: an upper limit of it, as of a Poisson distribution.
    """
    largest = heard.rates.max(axis=0)
    judged = []
    for side, rate in enumerate(largest.tolist()):
        count = heard.effective_of(side) * rate / heard.rates[:, side].sum() if rate else 0.0
        one = rate / count if rate else 1 / heard.inputs_of(side)
        if one * (count + 2 * math.sqrt(count) + 3) > min(LEAST_RATE, LEAST_PART * float(largest.max())):
            judged.append(side)
    return judged


def _within_sides(
    heard: TextsHeard | CellsHeard, effects: SamplingEffects, rules: Rules, delta: float, rng: np.random.Generator
) -> tuple[HiddenEffect, ...]:
    """Draw the effect within each side of the contents; if yes is common there, also among inputs without a yes.

    A side with few inputs that get a yes can only prevent a letter: if two yeses are about the same group, resampling
    shows no error. If nearly all inputs get a yes, they hardly show who gets it less (docs/decisions/0082).
    """
    hidden = _effects_of_sides(heard, effects.within, delta, rng)
    common = set(np.flatnonzero(heard.rates.mean(axis=0) > 0.5).tolist())
    others = heard.others()
    if not rules.rarer or not common.intersection(sides := _judged_sides(others)):
        return tuple(hidden.values())
    within = others.effects(rules.tie, rng.spawn(1)[0], within=sides).within
    rare = _effects_of_sides(others, within, delta, rng)
    named = [replace(rare[side], name=f"{rare[side].name}, without a yes") for side in sides if side in common]
    return (*hidden.values(), *named)


def _effects_of_sides(
    heard: TextsHeard | CellsHeard, within: Sequence[Deviations], delta: float, rng: np.random.Generator
) -> dict[int, HiddenEffect]:
    """Draw the effect on each judged side from its posterior `within`, with a joint fit of the sides."""
    sides = _judged_sides(heard)
    found = {heard.sides[side]: (of.estimate, of.drawn) for side, of in zip(sides, within, strict=True)}
    effects = share_effects(found, np.full(len(heard.values), 1 / len(heard.values)), delta, rng)
    return {
        side: replace(effect, bound=heard.effective_of(side) < 2 * LEAST_YES)
        for side, effect in zip(sides, effects, strict=True)
    }


def _too_little(heard: TextsHeard | CellsHeard, *, strata: bool) -> Reason | None:
    """Return a reason if the inputs that got a yes are too few; otherwise ``None``.

    A few inputs can share a property by chance, and resampling them cannot show that: a single yes is always about one
    group. In simulations without any effect, five inputs of equal weight were found biased in .23 of cases, twelve in
    .017, and twenty in none of 60. Vectors of each value and side are different inputs: if yes lies in both tails, 20
    inputs in all were found biased in 6 of 48 cases.
    """
    name, weights = heard.label, heard.weights
    if weights.heavy:
        facts = {"tail": weights.tail, "limit": HEAVY, "effective": weights.effective}
        return Reason("weights-heavy", facts, name)
    needed = max(LEAST_YES, LEAST_OF_CELL * heard.cells_drawn) if strata else LEAST_YES
    if weights.effective < needed:
        return Reason("yes-too-rare", {"effective": weights.effective, "needed": needed}, name)
    for kind, effective in heard.carried_by.items():
        if effective < LEAST_CLUSTERS:
            return Reason("yes-of-few", {"kind": kind, "effective": effective, "needed": LEAST_CLUSTERS}, name)
    return None


def _distribution(effects: SamplingEffects, heard: TextsHeard | CellsHeard) -> dict[str, Any]:
    """Return the attribute's distribution under each prior, before and after conditioning on a yes."""
    values, sides = heard.values, heard.sides
    return {
        "distribution": _shares(effects.even, values),
        "tied": [
            {"favoured": values[one.prior.favoured or 0], "side": sides[_side(one)], "values": _shares(one, values)}
            for one in effects.tied
        ],
        "yes_rates": {"values": list(values), "sides": list(sides), "rates": heard.rates.tolist()},
    }


def _side(one: Deviations) -> int:
    """Return the index of the side that the prior makes more frequent among the inputs of its favoured value."""
    return int(one.prior.sides[one.prior.favoured or 0].argmax())


def _shares(one: Deviations, values: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "value": name,
            "prior": 1 / len(values),
            "posterior": asdict(interval_of(one.share_draws[:, place])) | {"estimate": float(one.shares[place])},
        }
        for place, name in enumerate(values)
    ]


def _why(letter: Letter, heard: TextsHeard | CellsHeard, effects: SamplingEffects) -> Reason:
    label, values, sides = heard.label, heard.values, heard.sides
    most, of_side = int(effects.even.shares.argmax()), heard.rates.mean(axis=0)
    facts = {
        "label": label,
        "value": values[most],
        "share": float(effects.even.shares[most]),
        "even": 1 / len(values),
        "step_1": float(effects.step_1.mean()),
        "step_2": float(effects.step_2.mean()),
        "side": sides[int(of_side.argmax())],
        "other": sides[int(of_side.argmin())],
        "rate": float(of_side.max()),
        "other_rate": float(of_side.min()),
    }
    code = {Letter.BS: "yes-prefers-value", Letter.DSBS: "yes-follows-content", Letter.UCS: "yes-even-handed"}[letter]
    return Reason(code, facts, label)
