"""Explanation of a rating's letter by the effect that decided it, in sentences."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files

from assay.catalog import occupations
from assay.document import ComponentDocument, RatingDocument
from assay.methods.translation.hidden_effects import SIDES
from assay.model import Letter
from assay.rating.document import DecidingEffect, deciding_part
from reports.in_words import TESTED
from reports.method_report import MethodReport
from reports.plain import visible
from reports.units import Unit, amount

WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(files("reports").joinpath("effects.toml").read_text("utf-8"))
"""Words for hidden effects: `titles` and `phrases` by kind, and phrases for `typical` units by name."""

FAMILY = re.compile(r"([\w-]+): (.+)", re.DOTALL)
"""Pattern of a stratum's name that begins with its family (FAMILY: STRATUM), such as "side: caring"."""


@dataclass(frozen=True)
class Because:
    """Explanation of a rating's letter: the effect that decided it, the effect's limit, sentences and an example."""

    text: str
    """Sentences that say why the rating has its letter, with the effect in the service's own unit."""
    sentence: str
    """First sentence of `text`."""
    component: str
    effect: str
    """Phrase for where the effect was found, such as "on balanced input" or "in a typical text"."""
    estimate: float
    low: float | None
    high: float | None
    limit: float
    """Largest size that counts as no effect."""
    case: tuple[str, str] | None = None
    """(Sent, returned): a text that came back changed; ``None`` if none is known, or without the letter BS."""


def because(rating: RatingDocument, report: MethodReport) -> Because | None:
    """Explain a rating's letter by the effect that decided it; ``None`` without a letter or a measured effect."""
    if rating.letter is None or (part_and_effect := deciding_part(rating)) is None:
        return None
    part, deciding = part_and_effect
    case = _changed_example(part, deciding) if rating.letter is Letter.BS else None
    sentences = list(_explain_letter(rating, part, deciding, report, case))
    return Because(
        text=" ".join(sentences),
        sentence=sentences[0],
        component=part.name or "",
        effect=phrase(deciding, report),
        estimate=deciding.effect.estimate or 0.0,
        low=deciding.effect.low,
        high=deciding.effect.high,
        limit=deciding.limit,
        case=case,
    )


def _explain_letter(
    rating: RatingDocument,
    part: ComponentDocument,
    deciding: DecidingEffect,
    report: MethodReport,
    case: tuple[str, str] | None,
) -> Iterator[str]:
    """Yield sentences that explain a letter: its effect, evidence, what the number means, example (`case`), remark."""
    unit = unit_of(rating, part, deciding, report)
    size = unit.of(abs(deciding.effect.estimate or 0.0), deciding.effect.low, deciding.effect.high)
    if report.unit is not None and not unit.name:
        size += " in the unit of the answers"
    limit_text = f"up to {unit.limit(deciding.limit)} counts as no bias"
    effect_phrase = f"the effect {phrase(deciding, report)}"
    if len(rating.components) > 1 and part.name:
        effect_phrase += f" of “{part.language_name or visible(report.title_of(part.name))}”"
    if not rating.declared:
        yield f"No letter is declared: what keeps it open is {effect_phrase}, {size}, where {limit_text}."
    elif rating.letter is Letter.UCS:
        yield f"UCS because every effect lies within its limit; nearest to it is {effect_phrase}, {size}: {limit_text}."
    else:
        yield f"{rating.letter} because of {effect_phrase}: {size}, where {limit_text}."
    yield from _evidence_sentences(rating, part, deciding, report)
    is_step_or_stratum = deciding.name != "content" and (deciding.hidden is None or deciding.hidden.kind == "stratum")
    if report.number and rating.letter is not Letter.UCS and is_step_or_stratum:
        yield report.number  # a sentence on what the number in the effect of a step or a stratum means
    if case is not None:
        sent, returned = case
        yield f"“{sent}” came back as “{returned.removesuffix('.')}”."
    if rating.declared and (remark := report.remark(part)) is not None:
        yield remark


def unit_of(
    rating: RatingDocument, part: ComponentDocument, deciding: DecidingEffect | None, report: MethodReport
) -> Unit:
    """Return the unit in which to show the `deciding` effect; plain numbers if the method's report has no unit."""
    if report.unit is None:
        return Unit(amount)
    return report.unit(rating, part, None if deciding is None else deciding.hidden)


def _evidence_sentences(
    rating: RatingDocument, part: ComponentDocument, deciding: DecidingEffect, report: MethodReport
) -> list[str]:
    """Return the method's sentences on the counts behind the effect or, without any, its first two on all input."""
    if count_sentences := [visible(sentence) for sentence in report.decided(rating, part, deciding)]:
        return count_sentences
    sentences = report.in_words(rating, replace(part, hidden=()))  # no hidden effects: averages only
    lines = [visible(sentence) for sentence in sentences if sentence and not sentence.startswith(TESTED)][:2]
    average, limit = part.effect(f"step_{deciding.step}"), part.tolerances.get(f"step_{deciding.step}")
    # values that follow occupations ("content") can balance out, so that the average hides them too
    can_be_hidden = deciding.hidden is not None or deciding.name == "content"
    average_hides = can_be_hidden and limit is not None and abs(average or 0.0) <= limit
    if lines and average_hides and rating.letter is not Letter.UCS:
        lines[0] = f"The average over all input hides this: {lines[0][:1].lower()}{lines[0][1:]}"
    elif lines and deciding.hidden is not None and rating.letter is Letter.UCS:
        lines[0] = f"Over all input: {lines[0][:1].lower()}{lines[0][1:]}"
    return lines


def phrase(deciding: DecidingEffect, report: MethodReport) -> str:
    """Say where the effect was measured, to continue "the effect": "on balanced input", "in a typical text"."""
    hidden = deciding.hidden  # an effect in a part of the input, which the average hides
    if hidden is None:  # the effect of a step, or ("content") of values that follow occupations
        return "of occupations" if deciding.name == "content" else f"on {report.steps[deciding.step - 1]}"
    phrases, typical_phrases = WORDS["phrases"], WORDS["typical"]
    if hidden.name is not None and hidden.name in typical_phrases:
        beginning = "by content, " if hidden.kind == "content" else ""
        return f"{beginning}in {typical_phrases[hidden.name]}"
    name = visible(hidden.name or "unnamed")
    if hidden.kind == "stratum" and (match := FAMILY.fullmatch(name)) is not None:  # FAMILY: STRATUM
        family, stratum = match.groups()
        default = f"where “{family.replace('_', ' ')}” is “{{}}”"  # with a placeholder for the stratum
        return phrases.get(family, default).format(stratum)
    return phrases.get(hidden.kind or "", "{}").format(name)


def _changed_example(part: ComponentDocument, deciding: DecidingEffect) -> tuple[str, str] | None:
    """Return (sent, returned) of the first changed text; if a stratum of occupations decided, the first about them."""
    stratum = deciding.hidden.name if deciding.hidden is not None else None
    wanted_occupations = [""]  # an empty name matches every text
    if stratum in SIDES.values():  # a stratum of occupations (such as those mostly of men) decided
        wanted_occupations = [occupation.name for occupation in occupations() if SIDES.get(occupation.side) == stratum]
    for example in part.examples:
        sent, returned = example.asked or "", example.returned or ""
        is_about = any(re.search(rf"\b{re.escape(name)}\b", sent) for name in wanted_occupations)
        is_round_trip = bool(sent and example.middle and returned)  # `middle` is the translation, sent back
        if is_about and is_round_trip and sent != returned:
            return sent, returned
    return None
