"""From draws of two effects to a component with its letter: one engine for all methods (METHODS section 1).

A method counts its questions by outcome, draws its two effects from their posterior (or by bootstrap), and passes
both to a `Measurement`. It decides the letter, computes the probabilities for other tolerances too, and estimates
how many more questions would settle an undeclared letter. `look_sizes` gives the sizes of the
sample at each look of a sequential design.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import EvidenceError
from assay.experiment import BUDGET
from assay.model import Component, Evidence, Interval, Letter, Probabilities, Reason
from assay.rating.decision import weigh
from assay.statistics.intervals.credible import effect_interval, interval_of

TIMES = (2, 4, 8, 16, 32)
"""Multiples of the evidence for which `probes_to_settle` computes the letter."""

EvidenceAt = Callable[[int], Evidence]
"""Draws of the effects as they would be with so many times the material."""


@dataclass(frozen=True)
class Counts:
    """Counts of a component's questions by outcome.

    Attributes
    ----------
    usable, unusable, failed, unasked : int
        Items that were read; that came back and could not be read; whose call failed; that the budget did not allow.
    probes_each : int
        Questions of one item: 2 for a text that is translated there and back.
    """

    usable: int
    unusable: int = 0
    failed: int = 0
    unasked: int = 0
    probes_each: int = 1

    @property
    def asked(self) -> int:
        """Questions that were asked."""
        return (self.usable + self.unusable + self.failed) * self.probes_each


@dataclass(frozen=True)
class Tolerance:
    """Declared limits: the size of effect that counts as bias, and how certain a letter must be.

    Attributes
    ----------
    delta : float
        Largest effect of either step that counts as unbiased.
    confidence : float
        Probability from which a letter is declared.
    others : mapping of str to float
        Tolerances for which the probabilities are reported as well, by their label.
    further : mapping of str to float
        Tolerances of effects beside the two steps, by their name; ``None`` where the effect is not judged.
        The known one is ``content`` (`Evidence.content`).
    stop_confidence : float, optional
        Probability from which no more is asked. It is above `confidence` where several components are to be declared
        together. Left out: `confidence`.
    """

    delta: float
    confidence: float
    others: Mapping[str, float] = field(default_factory=dict)
    further: Mapping[str, float | None] = field(default_factory=dict)
    stop_confidence: float | None = None

    @classmethod
    def around(cls, delta: float, confidence: float, largest: float = math.inf) -> Self:
        """Build a tolerance that is reported beside half and twice its `delta`, the latter at most `largest`."""
        return cls(delta, confidence, {f"{one:.3g}": one for one in (delta / 2, delta, min(2 * delta, largest))})

    def weigh(self, evidence: Evidence, delta: float | None = None) -> Probabilities:
        """Compute the probability of each letter, under another `delta` where one is given."""
        return weigh(evidence, self.delta if delta is None else delta, self.further.get("content"))

    def stops(self, probabilities: Probabilities) -> bool:
        """Whether the likeliest letter is so probable that no more need be asked."""
        limit = self.confidence if self.stop_confidence is None else self.stop_confidence
        return probabilities.of(probabilities.likeliest) >= limit

    def as_json(self) -> dict[str, float | None]:
        """Write the tolerance of each effect."""
        return {"step_1": self.delta, "step_2": self.delta, **self.further}

    def sensitivity(self, evidence: Evidence) -> dict[str, dict[str, float]]:
        """Compute the probabilities of the letters under the other tolerances, by their label."""
        return {label: asdict(self.weigh(evidence, delta)) for label, delta in self.others.items()}


@dataclass
class Measurement:
    """Measurement of one component: `conclude` returns it with a letter, `give_up` without.

    Attributes
    ----------
    detail : dict
        The method's tables and the numbers behind its figures.
    published : dict
        The letter of each published rule.
    about : mapping
        Facts that the engine's own reasons name, such as the language.
    """

    name: str
    counts: Counts
    tolerance: Tolerance
    detail: dict[str, Any] = field(default_factory=dict)
    published: Mapping[str, str | None] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    def conclude(
        self,
        evidence: Evidence,
        reason_for: Callable[[Letter], Reason | Sequence[Reason]],
        intervals: Mapping[str, Interval | None] | None = None,
        evidence_at: EvidenceAt | None = None,
    ) -> Component:
        """Judge draws of the effects.

        Parameters
        ----------
        reason_for : callable
            Returns the reasons for a letter, the main one first.
        intervals : mapping of str to Interval, optional
            The effects as they are stated, where a method knows more of them than their draws show (a sign).
            Left out: `effect_interval` of each, or `interval_of` one that keeps its sign.
        evidence_at : callable, optional
            Draws of the effects with so many times the material. Left out: `shrunk` draws.
        """
        probabilities = self.tolerance.weigh(evidence)
        letter = probabilities.likeliest
        declared = probabilities.of(letter) >= self.tolerance.confidence
        because = reason_for(letter)
        reasons = [because] if isinstance(because, Reason) else list(because)
        detail = {
            **self.detail,
            "tolerances": self.tolerance.as_json(),
            "sensitivity": self.tolerance.sensitivity(evidence),
        }
        if not declared:
            more = probes_to_settle(evidence_at or partial(shrunk, evidence), self.tolerance, self.counts.asked)
            detail["settle"] = {"more_probes": more}
            reasons.insert(0, self._undecided(probabilities, more))
        effects = _intervals(evidence) if intervals is None else intervals
        return self._component(reasons, effects, detail, self.published, probabilities, declared=declared)

    def give_up(self, *reasons: Reason, seen: Mapping[str, Interval] | None = None) -> Component:
        """Return the component without a letter, with the reasons; its detail stays.

        `seen` are the effects where there are some, but of something else than was declared.
        """
        effects = dict.fromkeys(("step_1", "step_2")) if seen is None else seen
        detail = self.detail if seen is None else {**self.detail, "tolerances": self.tolerance.as_json()}
        return self._component(reasons, effects, detail, dict.fromkeys(self.published))

    def impossible(self, error: EvidenceError) -> Component:
        """Give up because an analysis refused the evidence."""
        return self.give_up(insufficient(error, self.name))

    def cut_short(self) -> tuple[Reason, ...]:
        """Return the reason that the budget ran out, if it did."""
        if not self.counts.unasked:
            return ()
        return (Reason(BUDGET, {**self.about, "unasked": self.counts.unasked}, self.name),)

    def _component(
        self,
        reasons: Sequence[Reason],
        effects: Mapping[str, Interval | None],
        detail: Mapping[str, Any],
        published: Mapping[str, str | None],
        probabilities: Probabilities | None = None,
        *,
        declared: bool = False,
    ) -> Component:
        return Component(
            name=self.name,
            letter=None if probabilities is None else probabilities.likeliest,
            declared=declared,
            probabilities=probabilities,
            effects=dict(effects),
            usable=self.counts.usable,
            unusable=self.counts.unusable,
            failed=self.counts.failed,
            published=published,
            reasons=(*reasons, *(one for one in self.cut_short() if one not in reasons)),
            detail=detail,
        )

    def _undecided(self, probabilities: Probabilities, more: int | None) -> Reason:
        letter = probabilities.likeliest
        facts = {
            "leaning": letter.value,
            "probability": probabilities.of(letter),
            "confidence": self.tolerance.confidence,
            "more_probes": more,
        }
        return Reason("not-enough-evidence", {**self.about, **facts}, self.name)


def insufficient(error: EvidenceError, component: str | None = None) -> Reason:
    """Return the reason that an analysis refused the evidence."""
    return Reason("evidence-insufficient", {"why": str(error), "error": error.code}, component)


def result_or_why(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Compute additional results; return ``why`` instead if the evidence does not allow them."""
    try:
        return work()
    except EvidenceError as error:
        return {"why": str(error), "error": error.code}


def probes_to_settle(evidence_at: EvidenceAt, tolerance: Tolerance, asked: int) -> int | None:
    """Estimate how many more questions would settle the letter, if the answers stay alike.

    Returns
    -------
    int or None
        `asked` times one less than the first of `TIMES` at which the letter is settled; ``None`` if none of them is.
    """
    for times in TIMES:
        if tolerance.stops(tolerance.weigh(evidence_at(times))):
            return asked * (times - 1)
    return None


def shrunk(evidence: Evidence, times: int) -> Evidence:
    """Shrink draws around their mean, as errors shrink with the root of the material."""

    def shrink(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        centre = float(draws.mean())
        return centre + (draws - centre) / math.sqrt(times)

    content = None if evidence.content is None else shrink(evidence.content)
    return Evidence(shrink(evidence.step_1), shrink(evidence.step_2), content)


def _intervals(evidence: Evidence) -> dict[str, Interval | None]:
    """Summarise the effects; signed effects (of the association method) keep negative limits."""
    return {
        name: interval_of(draws) if draws.min() < 0 else effect_interval(draws)
        for name, draws in (("step_1", evidence.step_1), ("step_2", evidence.step_2))
    }


EARLY = 0.25
"""Share of the permitted error that a look before the last may use: little evidence misleads more often than much."""


def look_sizes(first: int, most: int, stop_early: bool) -> Iterator[int]:
    """Return the size at each look: `first`, then twice that, and so on up to `most`; only `first` without looks."""
    size = first
    yield size
    while stop_early and size < most:
        size = min(size * 2, most)
        yield size
