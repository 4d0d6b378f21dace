"""The effect that decided a letter, and the sentence that says why the letter was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scipy.special import ndtr, ndtri

from assay.document import ComponentDocument, EffectDocument, HiddenDocument, RatingDocument
from assay.model import Letter
from reports.in_words import TESTED
from reports.method_report import MethodReport
from reports.plain import visible
from reports.units import Unit, amount

PHRASES = {
    "stratum": "within “{}” alone",
    "individual": "on a typical single case ({})",
    "loss": "in lost answers, most of “{}”",
    "content": "by content ({})",
}
"""How a sentence names each kind of hidden effect."""

UNBIASED_INPUT = frozenset({"stratum", "individual", "loss"})
"""Kinds of hidden effects on unbiased input, which are judged as step 1 is."""


@dataclass(frozen=True)
class DecidingEffect:
    """The effect of a component with the largest probability of exceeding its limit, of those that decide a letter.

    `chance` is that probability, from the normal distribution with the effect's interval; `step` is 1 for effects on
    unbiased input.
    """

    name: str
    step: int
    effect: EffectDocument
    limit: float
    chance: float
    hidden: HiddenDocument | None = None


@dataclass(frozen=True)
class Because:
    """Why a rating has its letter: a sentence, and the effect that it is about with its limit.

    `component` names the measured part; `case` is the most telling case: a text as it was sent and as it came back.
    """

    text: str
    component: str
    effect: str
    estimate: float
    low: float | None
    high: float | None
    limit: float
    case: tuple[str, str] | None = None


def deciding_effect(part: ComponentDocument, letter: Letter | None) -> DecidingEffect | None:
    """Return the effect that decides for or against a letter; ``None`` if nothing was measured.

    For BS these are the effects on unbiased input, for DSBS those on biased input, for UCS all.
    """
    steps = {Letter.BS: {1}, Letter.DSBS: {2}}.get(letter, {1, 2}) if letter is not None else {1, 2}
    candidates = [candidate for candidate in _effects(part) if candidate.step in steps]
    return max(candidates, key=lambda candidate: (round(candidate.chance, 6), _of_limit(candidate)), default=None)


def because(rating: RatingDocument, report: MethodReport) -> Because | None:
    """Say why a rating has its letter, by the effect that decided it; ``None`` if nothing was measured."""
    measured = [
        (part, deciding)
        for part in rating.components
        if part.letter is not None and (deciding := deciding_effect(part, part.letter)) is not None
    ]
    mine = [entry for entry in measured if entry[0].letter is rating.letter] or measured
    if rating.letter is None or not mine:
        return None
    part, deciding = max(mine, key=lambda entry: (round(entry[1].chance, 6), _of_limit(entry[1])))
    estimate = deciding.effect.estimate or 0.0
    case = _telling_case(part) if rating.letter is Letter.BS else None
    return Because(
        " ".join(_sentences(rating, part, deciding, report, case)),
        part.name or "",
        phrase(deciding, report),
        estimate,
        deciding.effect.low,
        deciding.effect.high,
        deciding.limit,
        case,
    )


def _sentences(
    rating: RatingDocument,
    part: ComponentDocument,
    deciding: DecidingEffect,
    report: MethodReport,
    case: tuple[str, str] | None,
) -> Iterator[str]:
    unit = (report.unit or _effect_size)(rating, part, deciding.hidden)
    size = unit.of(abs(deciding.effect.estimate or 0.0), deciding.effect.low, deciding.effect.high)
    limit = f"up to {unit.of(deciding.limit)} counts as none"
    where = phrase(deciding, report)
    if len(rating.components) > 1 and part.name:
        where += f" of “{part.language_name or visible(report.title_of(part.name))}”"
    if not rating.declared:
        yield f"No letter is declared: what keeps it open is the effect {where}, {size}, where {limit}."
    elif rating.letter is Letter.UCS:
        yield f"UCS because every effect lies within its limit; nearest to it is the effect {where}, {size}: {limit}."
    else:
        yield f"{rating.letter} because of the effect {where}: {size}, where {limit}."
    yield from _counted(rating, part, report)
    if case is not None:
        yield f"“{case[0]}” came back as “{case[1].removesuffix('.')}”."
    if rating.declared and (remark := report.remark(part)) is not None:
        yield remark


def _counted(rating: RatingDocument, part: ComponentDocument, report: MethodReport) -> list[str]:
    """Return the method's first two sentences about the counted answers."""
    sentences = report.in_words(rating, replace(part, hidden=()))
    return [visible(sentence) for sentence in sentences if sentence and not sentence.startswith(TESTED)][:2]


def phrase(deciding: DecidingEffect, report: MethodReport) -> str:
    """Name the input of an effect, as in "the effect on balanced input"."""
    hidden = deciding.hidden
    if hidden is not None:
        return PHRASES.get(hidden.kind or "", "{}").format(visible(hidden.name or "unnamed"))
    return "by content" if deciding.name == "content" else f"on {report.steps[deciding.step - 1]}"


def _effects(part: ComponentDocument) -> Iterator[DecidingEffect]:
    usual = part.tolerances.get("step_1")
    for name, step in (("step_1", 1), ("content", 1), ("step_2", 2)):
        effect = part.effects.get(name)
        limit = part.tolerances.get(name, usual)
        if effect is not None and effect.estimate is not None and limit is not None:
            yield DecidingEffect(name, step, effect, limit, _chance_beyond(effect, limit))
    for hidden in part.hidden:
        limit = hidden.limit if hidden.limit is not None else usual
        if hidden.effect.estimate is None or limit is None or hidden.bound:
            continue
        step = 1 if hidden.kind in UNBIASED_INPUT else 2
        chance = _chance_beyond(hidden.effect, limit)
        yield DecidingEffect(hidden.name or "unnamed", step, hidden.effect, limit, chance, hidden)


def _chance_beyond(effect: EffectDocument, limit: float) -> float:
    """Estimate the probability that an effect exceeds its limit, from its interval."""
    size = abs(effect.estimate or 0.0)
    if effect.low is None or effect.high is None or effect.high <= effect.low:
        return float(size > limit)
    deviation = (effect.high - effect.low) / (2 * ndtri((1 + (effect.level or 0.95)) / 2))
    return float(ndtr((size - limit) / deviation))


def _of_limit(deciding: DecidingEffect) -> float:
    return abs(deciding.effect.estimate or 0.0) / (deciding.limit or 1.0)


def _telling_case(part: ComponentDocument) -> tuple[str, str] | None:
    """Return the first example of a round trip whose text came back changed."""
    for example in part.examples:
        if example.middle and example.asked and example.returned and example.asked != example.returned:
            return example.asked, example.returned
    return None


def _effect_size(*_: object) -> Unit:
    """Return the unit of a method that names none: the effect size itself."""
    return Unit(amount)
