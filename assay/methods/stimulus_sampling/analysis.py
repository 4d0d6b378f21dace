"""From what a service said of generated inputs to a component with its letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import EvidenceError
from assay.methods.stimulus_sampling.texts import TextsHeard
from assay.methods.stimulus_sampling.vectors import CellsHeard
from assay.model import Component, Evidence, Letter, Reason
from assay.rating.component import Counts, Measurement, Tolerance
from assay.statistics.bayes.importance import HEAVY, Weights
from assay.statistics.intervals.alternation_effects import Profiles
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.crossed import LEAST_CLUSTERS
from assay.statistics.intervals.sampling_effects import Deviations, SamplingEffects, cell_effects, paired_effects

Floats = NDArray[np.float64]

LEAST_YES = 20
"""Inputs of equal weight that those which make a yes must be worth."""


@dataclass(frozen=True)
class Judge:
    """What a specification holds against the effects.

    Attributes
    ----------
    tolerance : Tolerance
        Delta and confidence.
    tie : float
        Share of a side that a tied prior gives to a value.
    """

    tolerance: Tolerance
    tie: float

    def texts(
        self, heard: TextsHeard, counts: Counts, detail: dict[str, Any], rng: np.random.Generator, *, brief: bool
    ) -> Component:
        """Judge texts."""
        drawing, showing = rng.spawn(2)
        told = detail | {"weights": heard.weights.as_json(), "clusters": _sizes(heard.paired.profiles)}
        measurement = Measurement(heard.label, counts, self.tolerance, told)
        try:
            effects = paired_effects(heard.paired, self.tie, drawing)
        except EvidenceError as error:
            return measurement.impossible(error)
        measurement.detail |= _distribution(effects, heard.values, heard.paired.rates, heard.sides)
        if not brief:
            measurement.detail |= heard.texts().as_json(showing)
        return self._conclude(measurement, effects, heard.weights, heard.values, heard.sides, heard.carried_by)

    def vectors(
        self, heard: CellsHeard, counts: Counts, detail: dict[str, Any], rng: np.random.Generator, *, brief: bool
    ) -> Component:
        """Judge vectors."""
        drawing, showing = rng.spawn(2)
        told = detail | {"weights": heard.weights.as_json()}
        measurement = Measurement(heard.label, counts, self.tolerance, told)
        try:
            effects = cell_effects(heard.cells, len(heard.values), self.tie, drawing)
        except EvidenceError as error:
            return measurement.impossible(error)
        measurement.detail |= _distribution(effects, heard.values, heard.rates, heard.sides)
        if not brief:
            measurement.detail |= heard.shown.as_json(showing)
        return self._conclude(measurement, effects, heard.weights, heard.values, heard.sides, {})

    def _conclude(
        self,
        measurement: Measurement,
        effects: SamplingEffects,
        weights: Weights,
        values: Sequence[str],
        sides: Sequence[str],
        alike: Mapping[str, float],
    ) -> Component:
        evidence = Evidence(effects.step_1, effects.step_2)
        why = _too_little(measurement.name, weights, alike)
        if why is not None:
            return measurement.give_up(why, seen=effects.intervals())
        rates = np.array(measurement.detail["yes_rates"]["rates"])
        return measurement.conclude(
            evidence, lambda letter: _why(letter, measurement.name, effects, values, sides, rates), effects.intervals()
        )


def _too_little(name: str, weights: Weights, carried_by: Mapping[str, float]) -> Reason | None:
    """Say why what made the service say yes is too little to go by.

    What a few inputs have in common they have by chance, and resampling them shows nothing else: one yes alone is of
    one group with certainty. Simulated without any effect, five inputs of equal weight were taken for biased in .23 of
    cases, twelve in .017, and twenty in none of 60.
    """
    if weights.heavy:
        facts = {"tail": weights.tail, "limit": HEAVY, "effective": weights.effective}
        return Reason("weights-heavy", facts, name)
    if weights.effective < LEAST_YES:
        return Reason("yes-too-rare", {"effective": weights.effective, "needed": LEAST_YES}, name)
    for kind, effective in carried_by.items():
        if effective < LEAST_CLUSTERS:
            return Reason("yes-of-few", {"kind": kind, "effective": effective, "needed": LEAST_CLUSTERS}, name)
    return None


def _sizes(profiles: Profiles) -> dict[str, int]:
    return {kind: int(ids.max()) + 1 for kind, ids in profiles.clusters.items()}


def _distribution(
    effects: SamplingEffects, values: Sequence[str], rates: Floats, sides: Sequence[str]
) -> dict[str, Any]:
    """Write down the attribute's distribution under each prior, before and after."""
    return {
        "distribution": _shares(effects.even, values),
        "tied": [
            {"favoured": values[one.prior.favoured or 0], "side": sides[_side(one)], "values": _shares(one, values)}
            for one in effects.tied
        ],
        "yes_rates": {"values": list(values), "sides": list(sides), "rates": rates.tolist()},
    }


def _side(one: Deviations) -> int:
    """Say which side the favoured value holds more of."""
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


def _why(
    letter: Letter,
    label: str,
    effects: SamplingEffects,
    values: Sequence[str],
    sides: Sequence[str],
    rates: Floats,
) -> Reason:
    most, of_side = int(effects.even.shares.argmax()), rates.mean(axis=0)
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
