"""From draws of two effects to a component with its letter, for methods that are not about translation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import EvidenceError
from assay.model import Component, Evidence, Interval, Letter, Probabilities, Reason
from assay.statistics.intervals import effect_interval, interval_of
from assay.verdict import weigh

EARLY = 0.25
"""A look before the last needs a quarter of the permitted doubt: little evidence misleads more often than much."""

TIMES = (2, 4, 8, 16, 32)
"""How many times the evidence `more_to_settle` imagines."""


@dataclass(frozen=True)
class Counts:
    """What became of a component's questions."""

    usable: int
    unusable: int = 0
    failed: int = 0
    unasked: int = 0


@dataclass(frozen=True)
class Tolerance:
    """What a specification declares: the size of effect that counts, and how sure a letter must be.

    `others` are tolerances for which the probabilities are always reported beside the headline's.
    """

    delta: float
    confidence: float
    others: tuple[float, ...] = ()


@dataclass
class Judged:
    """A component in the making: `conclude` gives it its letter.

    Attributes
    ----------
    name : str
        The component's name.
    counts : Counts
        What became of its questions.
    tolerance : Tolerance
        What is held against the effects.
    detail : dict
        The method's tables and the numbers behind its figures.
    published : dict
        The letter each published rule gives.
    """

    name: str
    counts: Counts
    tolerance: Tolerance
    detail: dict[str, Any] = field(default_factory=dict)
    published: dict[str, str | None] = field(default_factory=dict)

    def conclude(
        self,
        evidence: Evidence,
        why: Callable[[Letter], Reason],
        intervals: Mapping[str, Interval | None] | None = None,
    ) -> Component:
        """Judge draws of the effects.

        Parameters
        ----------
        evidence : Evidence
            Draws of both effects.
        why : callable
            Gives the main reason for a letter.
        intervals : mapping of str to Interval, optional
            The effects as they are stated, where a method knows more of them than their draws show (a sign).
            Left out: `effect_interval` of each, or `interval_of` one that keeps its sign.
        """
        probabilities = weigh(evidence, self.tolerance.delta)
        letter = probabilities.likeliest
        declared = probabilities.of(letter) >= self.tolerance.confidence
        reasons = [why(letter)]
        detail = {
            **self.detail,
            "tolerances": self._tolerances(),
            "sensitivity": {f"{one:.3g}": asdict(weigh(evidence, one)) for one in self.tolerance.others},
        }
        if not declared:
            asked = self.counts.usable + self.counts.unusable + self.counts.failed
            more = more_to_settle(evidence, self.tolerance, asked)
            detail["settle"] = {"more_probes": more}
            reasons.insert(0, self._undecided(letter, probabilities, more))
        return Component(
            name=self.name,
            letter=letter,
            declared=declared,
            probabilities=probabilities,
            effects=_effects(evidence) if intervals is None else dict(intervals),
            usable=self.counts.usable,
            unusable=self.counts.unusable,
            failed=self.counts.failed,
            published=self.published,
            reasons=(*reasons, *self._cut_short()),
            detail=detail,
        )

    def give_up(self, *reasons: Reason, seen: Mapping[str, Interval] | None = None) -> Component:
        """Give no letter, and say why; what was seen stays in the detail.

        `seen` are the effects where there are some, but of something else than was declared.
        """
        return Component(
            name=self.name,
            letter=None,
            declared=False,
            probabilities=None,
            effects=dict.fromkeys(("step_1", "step_2")) if seen is None else dict(seen),
            usable=self.counts.usable,
            unusable=self.counts.unusable,
            failed=self.counts.failed,
            published=dict.fromkeys(self.published),
            reasons=(*reasons, *self._cut_short()),
            detail=self.detail if seen is None else {**self.detail, "tolerances": self._tolerances()},
        )

    def impossible(self, error: EvidenceError) -> Component:
        """Give up for what an analysis said of the evidence."""
        return self.give_up(Reason("evidence-insufficient", {"why": str(error), "error": error.code}, self.name))

    def _tolerances(self) -> dict[str, float]:
        return dict.fromkeys(("step_1", "step_2"), self.tolerance.delta)

    def _undecided(self, letter: Letter, probabilities: Probabilities, more: int | None) -> Reason:
        facts = {
            "leaning": letter.value,
            "probability": probabilities.of(letter),
            "confidence": self.tolerance.confidence,
            "more_probes": more,
        }
        return Reason("not-enough-evidence", facts, self.name)

    def _cut_short(self) -> tuple[Reason, ...]:
        if not self.counts.unasked:
            return ()
        return (Reason("budget-exhausted", {"unasked": self.counts.unasked}, self.name),)


def told(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Make an analysis that stands beside the letter; where the evidence does not allow it, ``why`` instead."""
    try:
        return work()
    except EvidenceError as error:
        return {"why": str(error), "error": error.code}


def more_to_settle(evidence: Evidence, tolerance: Tolerance, asked: int) -> int | None:
    """Estimate how many more questions would settle the letter, if what is seen goes on.

    Draws are drawn together around their mean as errors shrink with the root of the evidence;
    ``None`` if 32 times as much would not do.
    """
    for times in TIMES:
        nearer = Evidence(_shrunk(evidence.step_1, times), _shrunk(evidence.step_2, times))
        probabilities = weigh(nearer, tolerance.delta)
        if probabilities.of(probabilities.likeliest) >= tolerance.confidence:
            return asked * (times - 1)
    return None


def _effects(evidence: Evidence) -> dict[str, Interval | None]:
    return {"step_1": _interval(evidence.step_1), "step_2": _interval(evidence.step_2)}


def _interval(draws: NDArray[np.float64]) -> Interval:
    """Summarise an effect; one that has a sign (association's) keeps both."""
    return interval_of(draws) if draws.min() < 0 else effect_interval(draws)


def _shrunk(draws: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    centre = float(draws.mean())
    return centre + (draws - centre) / math.sqrt(times)
