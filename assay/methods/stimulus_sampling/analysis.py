"""Letter and details of a component from the positive answers to generated inputs (sentences or vectors)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.document import EffectDocument, read_json
from assay.errors import EvidenceError
from assay.methods.shared.answers.tally import Tally
from assay.methods.stimulus_sampling.detail import SamplingComponent, TiedDocument, ValueDocument, Weights, YesRates
from assay.methods.stimulus_sampling.texts import AnsweredTexts
from assay.methods.stimulus_sampling.vectors import AnsweredCells
from assay.model import Component, Evidence, HiddenEffect, Letter, Reason
from assay.rating.component import Measurement, Tolerance
from assay.rating.losses import hidden_documents, largest_lost_share, loss_effect, losses_document, lost_replies
from assay.statistics.bayes.importance import HEAVY
from assay.statistics.hidden.chance import may_be_chance
from assay.statistics.hidden.strata import share_effects
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.crossed import LEAST_CLUSTERS
from assay.statistics.intervals.sampling_effects import Deviations, SamplingEffects


@dataclass(frozen=True)
class Rules:
    """Fields of `StimulusSampling` that determine the analysis.

    `tie` is the share of a value's inputs with content of one side, if content depends on the value. `judge_rarer`: no
    label was requested, so that within a side the rarer answers are judged, even if they are of the negative class.
    """

    tie: float
    strata: bool
    delta_loss: float | None
    judge_rarer: bool


LEAST_YES = 20
"""Minimum effective number (Kish) of inputs of the positive class for a letter."""

LEAST_RATE, LEAST_PART = 0.02, 0.1
"""Minimum positive rate of a side for a separate judgement: absolute or, if lower, relative to the highest rate."""

LEAST_OF_CELL = 10
"""Minimum effective number, on average, of positive vectors of each cell (a value with a side of the content)."""


def judge(
    answered_inputs: AnsweredTexts | AnsweredCells,
    tally: Tally,
    tolerance: Tolerance,
    rules: Rules,
    detail: SamplingComponent,
    rng: np.random.Generator,
) -> Component:
    """Return the component of the positive label, with its letter, from the answers about sentences or vectors."""
    effect_rng, display_rng, hidden_rng = rng.spawn(3)
    detail = replace(
        detail,
        weights=read_json(Weights, answered_inputs.weights.as_json()),
        clusters=answered_inputs.clusters,
        estimand=answered_inputs.estimand,
    )
    measurement = Measurement(answered_inputs.label, tally.counts, tolerance, detail)
    try:
        judged_sides = _sides_to_judge(answered_inputs) if rules.strata else ()
        effects = answered_inputs.effects(rules.tie, effect_rng, within=judged_sides)
    except EvidenceError as error:
        return measurement.impossible(error)
    detail = _add_distribution(detail, effects, answered_inputs)
    measurement.detail = answered_inputs.resemblance.describe(detail, display_rng)
    reason = _too_few_reason(answered_inputs, strata=rules.strata)
    if reason is not None:
        return measurement.give_up(reason, measured_effects=effects.intervals())
    hidden = loss_effect(tally.by_group, rules.delta_loss, tolerance.confidence, hidden_rng)
    if effects.one_sided:  # the posterior within each side with enough positive inputs
        hidden += _draw_within_sides(answered_inputs, effects, rules, tolerance.delta, hidden_rng)
    by_group = losses_document(tally.by_group, rules.delta_loss)
    measurement.detail = replace(measurement.detail, hidden=hidden_documents(hidden), by_group=by_group)
    evidence = Evidence(
        effects.step_1,
        effects.step_2,
        hidden=hidden,
        chance_1=may_be_chance(effects.unbiased.draws),  # signed deviations from even shares
        chance_2=may_be_chance(np.hstack(effects.half_differences)),  # signed effects of content tied to each value
    )
    # upper bound of the growth of a value's share of positives if every lost reply about it were positive
    lost_share = largest_lost_share(tally.by_group)
    sum_of_rates = float(answered_inputs.rates.mean(axis=1).sum())  # of all values, each with equal shares of the sides
    largest_shift = lost_share / (lost_share + sum_of_rates)
    return measurement.conclude(
        evidence,
        lambda letter: _reason_for(letter, answered_inputs, effects),
        effects.intervals(),
        lost=lost_replies(tally.by_group, rules.delta_loss, step_1=largest_shift, step_2=largest_shift),
    )


def _sides_to_judge(answered_inputs: AnsweredTexts | AnsweredCells) -> list[int]:
    """Return the indices (0, 1) of those sides (lists of contents) whose positive rate is not negligible.

    A side is left out if even the upper limit of its largest rate by value (as of a Poisson count) is negligible.
    """
    largest_rates = answered_inputs.rates.max(axis=0)
    minimum = min(LEAST_RATE, LEAST_PART * float(largest_rates.max()))
    judged_sides = []
    for side, rate in enumerate(largest_rates.tolist()):
        positive_count, rate_per_positive = 0.0, 1 / answered_inputs.input_count(side)
        if rate:  # effective number of positive inputs of the value with this rate
            positive_count = answered_inputs.effective_inputs(side) * rate / answered_inputs.rates[:, side].sum()
            rate_per_positive = rate / positive_count
        # two standard errors above a Poisson count, and 3 more, the upper limit of a count of 0
        upper_count = positive_count + 2 * math.sqrt(positive_count) + 3
        if rate_per_positive * upper_count > minimum:
            judged_sides.append(side)
    return judged_sides


def _draw_within_sides(
    answered_inputs: AnsweredTexts | AnsweredCells,
    effects: SamplingEffects,
    rules: Rules,
    delta: float,
    rng: np.random.Generator,
) -> tuple[HiddenEffect, ...]:
    """Draw the effect within each side of the contents; if positives are common there, also that of negative inputs.

    A side with few positive inputs can only prevent a letter: if two positives are about the same group, resampling
    gives a standard error of 0. If nearly all inputs are positive, the negative ones show differences (decision 0036).
    """
    hidden = _draw_side_effects(answered_inputs, effects.one_sided, delta, rng)
    common_sides = set(np.flatnonzero(answered_inputs.rates.mean(axis=0) > 0.5).tolist())  # mean over the values
    negative_inputs = answered_inputs.with_opposite_label()
    sides = _sides_to_judge(negative_inputs) if rules.judge_rarer else []
    if not common_sides.intersection(sides):
        return tuple(hidden.values())
    posteriors = negative_inputs.effects(rules.tie, rng.spawn(1)[0], within=sides).one_sided  # one for each of `sides`
    effects_by_side = _draw_side_effects(negative_inputs, posteriors, delta, rng)
    negative_effects = [effect for side, effect in effects_by_side.items() if side in common_sides]
    return (*hidden.values(), *(replace(effect, name=f"{effect.name}, without a yes") for effect in negative_effects))


def _draw_side_effects(
    answered_inputs: AnsweredTexts | AnsweredCells, fits: Sequence[Deviations], delta: float, rng: np.random.Generator
) -> dict[int, HiddenEffect]:
    """Draw the effect in each set of contents (side) with enough inputs, by index; `fits`: their joint posteriors."""
    sides = _sides_to_judge(answered_inputs)
    estimates = {
        answered_inputs.sides[side]: (deviations.estimate, deviations.draws)
        for side, deviations in zip(sides, fits, strict=True)
    }
    even_shares = np.full(len(answered_inputs.values), 1 / len(answered_inputs.values))
    return {  # for the number of inputs see docs/decisions/0036
        side: replace(effect, bound=answered_inputs.effective_inputs(side) < 2 * LEAST_YES)
        for side, effect in zip(sides, share_effects(estimates, even_shares, delta, rng), strict=True)
    }


def _too_few_reason(answered_inputs: AnsweredTexts | AnsweredCells, *, strata: bool) -> Reason | None:
    """Return a reason if positive inputs or their clusters are too few, or few have most of the weight; else ``None``.

    A few inputs can share a property by chance, and resampling them cannot show that: a single positive always
    belongs to one group. In simulations without any effect, five inputs of equal weight were found biased in .23 of
    cases, twelve in .017, and twenty in none of 60. With `strata`, each cell (a value with a side) needs some: with
    positives on both sides, 20 inputs in all were found biased in 6 of 48 cases.
    """
    name, weights = answered_inputs.label, answered_inputs.weights
    if weights.heavy:  # few inputs have most of the weight
        return Reason("weights-heavy", {"tail": weights.tail, "limit": HEAVY, "effective": weights.effective}, name)
    needed_inputs = max(LEAST_YES, LEAST_OF_CELL * answered_inputs.cell_count) if strata else LEAST_YES
    if weights.effective < needed_inputs:
        return Reason("yes-too-rare", {"effective": weights.effective, "needed": needed_inputs}, name)
    for kind, count in answered_inputs.effective_clusters.items():
        if count < LEAST_CLUSTERS:
            return Reason("yes-of-few", {"kind": kind, "effective": count, "needed": LEAST_CLUSTERS}, name)
    return None


def _add_distribution(
    detail: SamplingComponent, effects: SamplingEffects, answered_inputs: AnsweredTexts | AnsweredCells
) -> SamplingComponent:
    """Add the attribute's distribution under each prior, among all inputs and among those of the positive class."""
    values, sides = answered_inputs.values, answered_inputs.sides
    return replace(
        detail,
        distribution=_value_documents(effects.unbiased, values),
        tied=tuple(_tied_document(tied, values, sides) for tied in effects.tied),
        yes_rates=YesRates(tuple(values), tuple(sides), tuple(map(tuple, answered_inputs.rates.tolist()))),
    )


def _tied_document(deviations: Deviations, values: Sequence[str], sides: Sequence[str]) -> TiedDocument:
    favoured = deviations.prior.favoured
    assert favoured is not None  # noqa: S101  every tied prior favours a value
    side = int(deviations.prior.sides[favoured].argmax())  # more frequent for the favoured value
    return TiedDocument(values[favoured], sides[side], _value_documents(deviations, values))


def _value_documents(deviations: Deviations, values: Sequence[str]) -> tuple[ValueDocument, ...]:
    """Return a row for each value: its share if all were equal, and its share of the positive inputs."""
    intervals = [EffectDocument.of(interval_of(draws)) for draws in deviations.share_draws.T]
    return tuple(
        ValueDocument(name, 1 / len(values), replace(interval, estimate=float(share)))
        for name, interval, share in zip(values, intervals, deviations.shares, strict=True)
    )


def _reason_for(letter: Letter, answered_inputs: AnsweredTexts | AnsweredCells, effects: SamplingEffects) -> Reason:
    """Return a letter's reason, with the value of most positive inputs, and the positive rate of either side."""
    label, values, sides = answered_inputs.label, answered_inputs.values, answered_inputs.sides
    top_value = int(effects.unbiased.shares.argmax())
    side_rates = answered_inputs.rates.mean(axis=0)
    facts = {
        "label": label,
        "value": values[top_value],
        "share": float(effects.unbiased.shares[top_value]),
        "even": 1 / len(values),
        "step_1": float(effects.step_1.mean()),
        "step_2": float(effects.step_2.mean()),
        "side": sides[int(side_rates.argmax())],
        "other": sides[int(side_rates.argmin())],
        "rate": float(side_rates.max()),
        "other_rate": float(side_rates.min()),
    }
    code = {Letter.BS: "yes-prefers-value", Letter.DSBS: "yes-follows-content", Letter.UCS: "yes-even-handed"}[letter]
    return Reason(code, facts, label)
