"""Decision engine of all methods: from draws of two effects to a component with its letter.

See docs/methods/decision-rule.md.

A method counts its questions by outcome, draws its two effects from their posterior (or by bootstrap), and passes
both to a `Measurement`. The measurement decides the letter, computes the probabilities for other tolerances too, and
estimates how many more questions would settle an undeclared letter. `look_sizes` yields the sample size at each look
of a sequential design.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Generic, Self, TypeVar

from assay.document import ComponentDocument, Json, SettleDocument
from assay.errors import EvidenceError
from assay.experiment import BUDGET
from assay.model import Component, Evidence, Floats, Interval, Letter, Probabilities, Reason
from assay.rating.decision import letter_probabilities
from assay.statistics.intervals.credible import effect_interval, interval_of

TIMES = (2, 4, 8, 16, 32)
"""Multiples of the evidence for which `probes_to_settle` computes the letter."""

MOST_NAMED = 3
"""Maximum number of hidden effects that the reasons name."""

HIDDEN = {
    "stratum": "biased-within-a-stratum",
    "individual": "treats-alike-on-average-only",
    "loss": "refuses-one-group",
    "content": "follows-a-part-of-the-content",
}
"""Code of the reason that a hidden effect of each kind (`HiddenEffect.kind`) gives."""

TOO_FEW = "too-few-to-judge"
"""Code of the reason that a component has fewer independent units than a letter needs."""

LEAST_UNITS = 8
"""Minimum number of words, terms, people or rows: with fewer, how much they vary is unknown."""

LEAST_ANSWERS = 0.6
"""Minimum number of binary answers, times the square of the tolerance: 60 for .1.

A share of `n` answers errs by ``.5 / sqrt(n)`` at most. With `LEAST_ANSWERS` this is two thirds of the tolerance, so
that chance alone seldom looks like an effect. Found by simulation of the smallest designs (docs/decisions/0098).
"""

FEWEST_ANSWERS = 30
"""Minimum number of binary answers for any tolerance: the shares of fewer answers are too coarse."""

D = TypeVar("D", bound=ComponentDocument)
R = TypeVar("R")

EvidenceAt = Callable[[int], Evidence]
"""Function of `times`: predicts the evidence after `times` as many questions."""


@dataclass(frozen=True)
class Counts:
    """Counts of a component's questions by outcome."""

    usable: int
    """Number of items with a readable reply."""
    unusable: int = 0
    """Number of items with an unreadable reply."""
    failed: int = 0
    """Number of items with a failed call."""
    unasked: int = 0
    """Number of items that were not asked about, because the budget ran out."""
    probes_each: int = 1
    """Number of questions of one item: 2 for a text that is translated there and back."""

    @property
    def asked(self) -> int:
        """Number of questions that were asked."""
        return (self.usable + self.unusable + self.failed) * self.probes_each


@dataclass(frozen=True)
class Units:
    """Independent units of one kind (texts, words, rows) and the number of them that a letter needs.

    `unit` is their name in the singular, with a regular plural: "text", "neutral term".
    """

    unit: str
    count: int
    needed: int = LEAST_UNITS

    def reason(self, component: str, common_facts: Json) -> Reason:
        """Return the reason why a component has no letter: too few units. `common_facts` are added to its facts."""
        usable = f"{self.count:,} {self.unit}{'' if self.count == 1 else 's'}"
        facts = {"unit": self.unit, "count": self.count, "needed": self.needed, "usable": usable}
        return Reason(TOO_FEW, {**common_facts, **facts}, component)


def answers_needed(delta: float) -> int:
    """Return the number of yes-or-no answers that a letter needs if the tolerance, which is a share, is `delta`."""
    answers = round(LEAST_ANSWERS / delta**2, 6)  # rounded, because a rounding error would count as a whole answer
    return max(FEWEST_ANSWERS, math.ceil(answers))


def has_too_few(component: Component) -> bool:
    """Return whether too few independent units (texts, words) are the reason that a component has no letter yet."""
    return component.letter is None and any(reason.code == TOO_FEW for reason in component.reasons)


def keep_bs_only(component: Component, reason: Reason | None = None) -> Component:
    """Withhold UCS and DSBS for a reason; by default, few outputs dominate the sd that differences are divided by."""
    facts = {"why": "a few of them make up most of their standard deviation"}
    reason = reason or Reason("letter-depends-on-scale", facts, component.name)
    is_withheld = component.letter not in {None, Letter.BS}
    return replace(component, declared=False, reasons=(reason, *component.reasons)) if is_withheld else component


def is_settled(component: Component) -> bool:
    """Return whether more questions would change nothing: the letter is declared, or none is possible at all."""
    return component.declared or (component.letter is None and not has_too_few(component))


def are_settled(components: Sequence[Component], aggregation: str) -> bool:
    """Return whether all components are settled, or the aggregation is ``worst`` and one component is declared BS."""
    if aggregation == "worst" and any(part.declared and part.letter is Letter.BS for part in components):
        return True
    return all(map(is_settled, components))


@dataclass(frozen=True)
class Lost:
    """Largest changes of the effects that lost replies could have caused (docs/what-a-mean-hides.md)."""

    step_1: float = 0.0
    """Largest change of the effect on unbiased input that lost replies could have caused, in units of the effect."""
    step_2: float = 0.0
    """Largest change of the effect on biased input that lost replies could have caused."""
    facts: Json = field(default_factory=dict)
    """Facts about the lost replies, for the reasons."""
    refusals: Json = field(default_factory=dict)
    """Like `facts`, but about refusals and failed calls only, without answers that could not be read."""
    stratum: float = 0.0
    """Largest change of the effect within a single stratum by lost replies, if it exceeds `step_1`."""

    def worst(self, evidence: Evidence, letter: Letter) -> Iterator[Evidence]:
        """Yield the evidence least favourable to a letter among all that the lost replies could have produced."""
        if not self.step_1 and not self.step_2:
            return
        sign = -1 if letter is Letter.BS else 1  # a smaller effect of step 1 is worse for BS, a larger one for others
        change_1, stratum_change = sign * self.step_1, sign * max(self.step_1, self.stratum)
        # for UCS, a larger effect of step 2 is always worse; for other letters, both directions are tried
        for change_2 in (self.step_2,) if letter is Letter.UCS else (self.step_2, -self.step_2):
            changes = {"stratum": stratum_change, "content": change_2}  # by the kind of a hidden effect
            hidden = tuple(
                replace(effect, draws=effect.draws + changes.get(effect.kind, 0.0)) for effect in evidence.hidden
            )
            yield replace(evidence, step_1=evidence.step_1 + change_1, step_2=evidence.step_2 + change_2, hidden=hidden)


NOTHING_LOST = Lost()
"""No reply was lost."""


@dataclass(frozen=True)
class Tolerance:
    """Declared limits: the largest effects that do not count as bias, and the required probability of a letter."""

    delta: float
    """Largest effect of either step that counts as unbiased."""
    confidence: float
    """Probability from which a letter is declared."""
    others: Mapping[str, float] = field(default_factory=dict)
    """Further tolerances for which the probabilities are reported too, by label (``"0.05"``)."""
    further: Mapping[str, float | None] = field(default_factory=dict)
    """Tolerances of other effects than those of the two steps, by name; ``None`` if the effect is not judged. The only
    such effect is ``content`` (`Evidence.content`)."""
    stop_confidence: float | None = None
    """Probability of a letter from which no more questions are asked. It is above `confidence` if several components
    must be declared together. Default: `confidence`."""
    step_1: float | None = None
    """Limit of the effect on unbiased input if it differs from `delta`, as for ratios on a logarithmic scale."""
    hidden_confidence: float | None = None
    """Probability that UCS and DSBS need when hidden effects are included. It is below `confidence` before the last
    analysis, because many hidden effects together seldom reach `confidence`. Default: `confidence`."""

    @classmethod
    def around(cls, delta: float, confidence: float, largest: float = math.inf, *, hidden: float | None = None) -> Self:
        """Build a tolerance; `others`: half, once, twice `delta` (to `largest`); `hidden`: its `hidden_confidence`."""
        other_limits = {f"{limit:.3g}": limit for limit in (delta / 2, delta, min(2 * delta, largest))}
        return cls(delta, confidence, other_limits, hidden_confidence=hidden)

    def weigh(self, evidence: Evidence, delta: float | None = None) -> Probabilities:
        """Compute the probability of each letter; a given `delta` replaces the declared tolerance."""
        limit = self.delta if delta is None else delta
        content_limit = self.further.get("content")
        if self.step_1 is None:  # both steps have the same limit
            return letter_probabilities(evidence, limit, content_limit)
        step_1_limit = self.step_1 * limit / self.delta  # another `delta` changes both limits in proportion
        return letter_probabilities(evidence, step_1_limit, content_limit, step_2=limit)

    @property
    def of_step_1(self) -> float:
        """Limit of the effect on unbiased input (step 1), and of hidden effects without a limit of their own."""
        return self.delta if self.step_1 is None else self.step_1

    def declares(self, evidence: Evidence, letter: Letter) -> bool:
        """Return whether a letter can be declared; for BS and DSBS, effects that may be chance do not count."""
        return self.reaches(evidence if letter is Letter.UCS else evidence.beyond_chance(), letter)

    def reaches(self, evidence: Evidence, letter: Letter) -> bool:
        """Return whether a letter is probable enough; unlike in `declares`, effects that may be chance always count."""
        if self.weigh(evidence).of(letter) >= self.confidence:
            return True
        if letter is Letter.BS or self.hidden_confidence is None:  # the lower confidence is for UCS and DSBS
            return False
        is_enough_without_hidden = self.weigh(replace(evidence, hidden=())).of(letter) >= self.confidence
        return is_enough_without_hidden and self.weigh(evidence).of(letter) >= self.hidden_confidence

    def stops(self, probabilities: Probabilities) -> bool:
        """Return whether the likeliest letter is probable enough to stop asking."""
        limit = self.confidence if self.stop_confidence is None else self.stop_confidence
        return probabilities.of(probabilities.likeliest) >= limit

    def as_json(self) -> dict[str, float | None]:
        """Return the tolerance of each effect by the name of the effect."""
        return {"step_1": self.of_step_1, "step_2": self.delta, **self.further}

    def sensitivity(self, evidence: Evidence) -> dict[str, dict[str, float]]:
        """Compute the probabilities of the letters under each of the `others`, by the tolerance's label."""
        return {label: self.weigh(evidence, delta).as_json() for label, delta in self.others.items()}


@dataclass
class Measurement(Generic[D]):
    """Measurement of one component: `conclude` returns a component with a letter, `give_up` one without."""

    name: str
    counts: Counts
    tolerance: Tolerance
    detail: D = field(default_factory=ComponentDocument)  # type: ignore[assignment]
    """The method's tables and the numbers behind its figures."""
    published: Mapping[str, str | None] = field(default_factory=dict)
    """The letter by each published decision rule, by the rule's name."""
    facts: Json = field(default_factory=dict)
    """Facts, such as the language, that are added to the reasons of all methods."""
    units: Sequence[Units] = ()
    """Independent units behind the effects. If one kind has fewer than it needs, `conclude` gives no letter."""

    @property
    def too_few(self) -> tuple[Reason, ...]:
        """The reasons that there are too few units for a letter; empty if there are enough."""
        return tuple(units.reason(self.name, self.facts) for units in self.units if units.count < units.needed)

    def conclude(
        self,
        evidence: Evidence,
        reason_for: Callable[[Letter], Reason | Sequence[Reason]],
        intervals: Mapping[str, Interval | None] | None = None,
        evidence_at: EvidenceAt | None = None,
        lost: Lost = NOTHING_LOST,
    ) -> Component:
        """Return the component with its letter, given draws of its effects.

        Parameters
        ----------
        reason_for : callable
            Returns the reasons for a letter, the main one first.
        intervals : mapping of str to Interval, optional
            Intervals of the effects, if the method knows more about them than the draws show (such as a sign).
            Default: `effect_interval` of each effect, or `interval_of` an effect with negative draws.
        evidence_at : callable, optional
            Predicts the evidence after a multiple of the questions. Default: `shrinking`.
        lost : Lost, optional
            Largest change that the lost replies could make.
        """
        effects = _step_intervals(evidence) if intervals is None else intervals
        if shortages := self.too_few:
            return self.give_up(*shortages, measured_effects=effects)
        has_unread_gap, evidence = _split_off_unread(evidence)  # such a gap can prevent all letters but BS
        probabilities = self.tolerance.weigh(evidence)
        letter = probabilities.likeliest
        is_enough = self.tolerance.declares(evidence, letter)
        is_robust = self._survives_losses(evidence, letter, lost) and (letter is Letter.BS or not has_unread_gap)
        declared = is_enough and is_robust
        letter_reasons = reason_for(letter)
        reasons = [letter_reasons] if isinstance(letter_reasons, Reason) else list(letter_reasons)
        if hidden_reasons := self._hidden_reasons(letter, evidence, lost):
            if self.tolerance.weigh(replace(evidence, hidden=())).of(letter) <= 0.5:
                reasons = hidden_reasons  # without hidden effects, the letter would not be likely
            elif letter is not Letter.DSBS:  # what step 2 shows is not hidden
                reasons += hidden_reasons
        sensitivity = self.tolerance.sensitivity(evidence)
        detail = replace(self.detail, tolerances=self.tolerance.as_json(), sensitivity=sensitivity)
        if (is_enough and not is_robust) or (has_unread_gap and not declared):
            reasons.insert(0, Reason("letter-depends-on-what-was-lost", dict(lost.facts), self.name))
        elif not declared and self.tolerance.reaches(evidence, letter):
            reasons.insert(0, Reason("may-be-chance", {**self.facts, "leaning": letter.value}, self.name))
        elif not declared:
            extra_probes = probes_to_settle(evidence_at or shrinking(evidence), self.tolerance, self.counts.asked)
            detail = replace(detail, settle=SettleDocument(extra_probes))
            reasons.insert(0, self._undecided_reason(probabilities, extra_probes))
        return self._build_component(reasons, effects, detail, self.published, probabilities, declared=declared)

    def _survives_losses(self, evidence: Evidence, letter: Letter, lost: Lost) -> bool:
        """Return whether the letter would be declared even in the worst case of the lost replies."""
        return all(
            self.tolerance.weigh(worst_case).of(letter) >= self.tolerance.confidence
            for worst_case in lost.worst(evidence, letter)
        )

    def _hidden_reasons(self, letter: Letter, evidence: Evidence, lost: Lost) -> list[Reason]:
        """Return reasons for the letter: effects hidden by the mean that probably exceed their limit, likeliest first.

        The effect on single cases is left out if the mean shows it: its reason says that groups are alike on average.
        """
        is_shown_by_mean = not evidence.bound and float((evidence.step_1 > self.tolerance.of_step_1).mean()) > 0.5
        not_for_bs = {"content", "individual"} if is_shown_by_mean else {"content"}
        kinds = {Letter.DSBS: {"content"}, Letter.BS: {*HIDDEN} - not_for_bs}.get(letter, set())
        candidates = [effect for effect in evidence.hidden if effect.kind in kinds and not effect.bound]
        probabilities = [float(effect.beyond(self.tolerance.of_step_1).mean()) for effect in candidates]
        by_probability = sorted(zip(probabilities, candidates, strict=True), key=lambda pair: -pair[0])
        return [
            Reason(
                HIDDEN[effect.kind],
                {
                    **self.facts,
                    **(lost.refusals if effect.kind == "loss" else {}),
                    "name": effect.name,
                    "effect": float(effect.draws.mean()),
                    "limit": effect.limit,
                    **({} if p_beyond >= self.tolerance.confidence else {"probability": p_beyond}),
                },
                self.name,
            )
            for p_beyond, effect in by_probability[:MOST_NAMED]
            if p_beyond > 0.5
        ]

    def give_up(self, *reasons: Reason, measured_effects: Mapping[str, Interval | None] | None = None) -> Component:
        """Return the component without a letter, with the reasons; the method's own tables (`detail`) stay.

        `measured_effects` holds effects that must not decide the letter, such as those of too few words.
        """
        effects = dict.fromkeys(("step_1", "step_2")) if measured_effects is None else measured_effects
        detail = self.detail if measured_effects is None else replace(self.detail, tolerances=self.tolerance.as_json())
        return self._build_component(reasons, effects, detail, dict.fromkeys(self.published))

    def impossible(self, error: EvidenceError) -> Component:
        """Return the component without a letter; the reason is the error that an analysis raised."""
        return self.give_up(insufficient(error, self.name))

    def cut_short(self) -> tuple[Reason, ...]:
        """Return the reason that questions were not asked because the budget ran out; empty if all were asked."""
        if not self.counts.unasked:
            return ()
        return (Reason(BUDGET, {**self.facts, "unasked": self.counts.unasked}, self.name),)

    def _build_component(
        self,
        reasons: Sequence[Reason],
        effects: Mapping[str, Interval | None],
        detail: ComponentDocument,
        published: Mapping[str, str | None],
        probabilities: Probabilities | None = None,
        *,
        declared: bool = False,
    ) -> Component:
        """Return the component with its counts; without probabilities, it has no letter."""
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
            reasons=(*reasons, *(reason for reason in self.cut_short() if reason not in reasons)),
            detail=detail,
        )

    def _undecided_reason(self, probabilities: Probabilities, extra_probes: int | None) -> Reason:
        """Return the reason that no letter is probable enough, with the number of questions that would settle it."""
        letter = probabilities.likeliest
        facts = {
            "leaning": letter.value,
            "probability": probabilities.of(letter),
            "confidence": self.tolerance.confidence,
            "more_probes": extra_probes,
        }
        if letter is Letter.BS and probabilities.unlocated > probabilities.BS:
            facts["unlocated"] = probabilities.unlocated
        return Reason("not-enough-evidence", {**self.facts, **facts}, self.name)


def _split_off_unread(evidence: Evidence) -> tuple[bool, Evidence]:
    """Take the effect of unreadable answers out of the evidence; also return whether it probably exceeds its limit."""
    unread_mask = [effect.kind == "loss" and effect.bound for effect in evidence.hidden]  # see `losses.loss_effect`
    # infinity: an effect without a limit of its own exceeds nothing
    exceeds_limit = [effect.beyond(math.inf).mean() > 0.5 for effect in compress(evidence.hidden, unread_mask)]
    remaining = tuple(effect for effect, is_unread in zip(evidence.hidden, unread_mask, strict=True) if not is_unread)
    return any(exceeds_limit), replace(evidence, hidden=remaining)


def insufficient(error: EvidenceError, component: str | None = None) -> Reason:
    """Return the reason for an error that an analysis raised because the evidence does not suffice."""
    return Reason("evidence-insufficient", {"why": str(error), "error": error.code}, component)


def result_or_why(kind: Callable[..., R], work: Callable[[], R]) -> R:
    """Return the result of `work`; if that raises `EvidenceError`, build a `kind` with its message and code instead."""
    try:
        return work()
    except EvidenceError as error:
        return kind(why=str(error), error=error.code)


def probes_to_settle(evidence_at: EvidenceAt, tolerance: Tolerance, asked_count: int) -> int | None:
    """Estimate how many more questions would settle the letter if further answers resemble those so far.

    These are the questions beyond `asked_count`, for the smallest multiple in `TIMES` that would settle the letter;
    ``None`` if none would.
    """
    for times in TIMES:
        if tolerance.stops(tolerance.weigh(evidence_at(times))):
            return asked_count * (times - 1)
    return None


def shrinking(evidence: Evidence) -> EvidenceAt:
    """Return a function that predicts the evidence for `times` as many questions: errors shrink by ``sqrt(times)``."""

    def shrink(draws: Floats) -> Callable[[int], Floats]:
        centre = float(draws.mean())
        deviations = draws - centre
        return lambda times: centre + deviations / math.sqrt(times)

    step_1_at, step_2_at = shrink(evidence.step_1), shrink(evidence.step_2)
    content_at = None if evidence.content is None else shrink(evidence.content)
    hidden = [(effect, shrink(effect.draws)) for effect in evidence.hidden]

    def evidence_at(times: int) -> Evidence:
        effects = tuple(replace(effect, draws=draws_at(times)) for effect, draws_at in hidden)
        content = None if content_at is None else content_at(times)
        return replace(evidence, step_1=step_1_at(times), step_2=step_2_at(times), content=content, hidden=effects)

    return evidence_at


def _step_intervals(evidence: Evidence) -> dict[str, Interval | None]:
    """Return the interval of each effect; signed effects (of the association method) keep negative limits."""
    return {
        name: interval_of(draws) if draws.min() < 0 else effect_interval(draws)
        for name, draws in (("step_1", evidence.step_1), ("step_2", evidence.step_2))
    }


EARLY_ERROR_FRACTION = 0.25
"""Share of the permitted error that a look (interim analysis) before the last may use, as it has little evidence."""


def look_sizes(first: int, largest: int, stop_early: bool, growth: float = 2.0) -> Iterator[int]:
    """Yield each analysis's sample size: `first`; if `stop_early`, also `growth` times the last, up to `largest`."""
    size = first
    yield size
    while stop_early and size < largest:
        size = min(math.ceil(size * growth), largest)
        yield size
