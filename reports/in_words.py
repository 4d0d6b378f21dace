"""Paragraph for readers without knowledge of statistics: the letter, the effects, and what was not tested."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from assay.document import ComponentDocument, HiddenDocument, RatingDocument
from assay.explain import letter_words
from assay.model import Letter
from assay.rating.document import deciding_part
from reports.method_report import MethodReport
from reports.plain import visible
from reports.units import HUNDREDTHS, Unit, amount

AVERAGES = "All of this is about averages: single cases may be treated otherwise."
"""Sentence for a rating that judged no hidden effects, or only that of lost replies."""

NOT_TESTED = "Nothing is known of other attributes, languages and content."

OF_UCS = (
    "This letter does not say that the service is fair in every respect, nor that its answers are right: "
    "it covers nothing but what is named here, and no other attribute, language or content."
)


def paragraph(rating: RatingDocument, report: MethodReport) -> tuple[str, ...]:
    """Return the sentences for readers who know no statistics: first the letter's meaning, last the advice."""
    letter, declared = rating.letter, rating.declared
    words = letter_words(letter, declared, rating.reason_codes, report.letters)
    component = deciding_component(rating)
    if letter is None or component is None:
        return words.meaning, words.advice
    findings = [visible(sentence) for sentence in report.in_words(rating, component) if sentence]
    component_sentence = _name_component(component, len(rating.components))
    sentences = [words.meaning, *component_sentence, *(findings or _effect_sentences(rating, component, report.steps))]
    if all(hidden.kind == "loss" for hidden in component.hidden):  # single cases were not judged
        sentences.append(AVERAGES)
    if not declared and (settle_sentence := settle_in_words(rating, component, report)) is not None:
        sentences.append(settle_sentence)
    sentences.append(OF_UCS if declared and letter is Letter.UCS else NOT_TESTED)
    upload_phrase = f"rate it with your own {report.ratable} (upload or name them) before use, and until then "
    attribute = visible(rating.attribute or "the attribute")
    first_advice = upload_phrase if report.ratable else ""
    method_advice = report.advice(rating, component) if declared else None
    return (*sentences, method_advice or words.advice.format(attribute=attribute, first=first_advice))


def hidden_in_words(
    part: ComponentDocument,
    unit: Unit,
    stratum_template: str,
    individual_template: str = "{size}",
    individual_unit: Unit | None = None,
    content_template: str = "",
    own_templates: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield a sentence on the largest hidden effect of each kind: on single cases, in a stratum or by loss, by content.

    An average over all input can hide these effects; the largest is the largest relative to its limit. Templates are
    sentences with ``{name}`` and ``{size}``; `own_templates` replaces them for the strata that are its keys, and for
    the contents with the key "content: NAME". `individual_unit`: unit of effects on single cases, if it is not `unit`.
    """
    largest_of_kind: dict[str, HiddenDocument] = {}
    for hidden in sorted(part.hidden, key=lambda hidden: -_share_of_limit(part, hidden)):
        kind = hidden.kind if hidden.kind in {"individual", "content"} else "other"  # strata, losses
        largest_of_kind.setdefault(kind, hidden)
    for kind in ("individual", "other", "content"):
        hidden = largest_of_kind.get(kind, HiddenDocument())
        if hidden.effect.estimate is None:
            continue
        name = hidden.name or "a part of the content"
        template, effect_unit = own_templates.get(name, stratum_template), unit
        if hidden.kind == "loss":
            template, effect_unit = LOSS, HUNDREDTHS
        elif kind == "individual":
            template, effect_unit = individual_template, individual_unit or unit
        elif kind == "content":
            template = own_templates.get(f"content: {name}", content_template)
        effect = hidden.effect
        size = f"an estimated {effect_unit.of(effect.estimate or 0.0, effect.low, effect.high)}"
        if hidden.bound:  # an upper bound of the effect, which has no interval
            size = f"an estimated {effect_unit.of(effect.estimate or 0.0)}"
            size = size if " than " in size else f"at most {size}"  # "fewer than 1" is a bound in itself
        sentence = template.format(name=name, size=size)
        yield sentence[:1].upper() + sentence[1:]


LOSS = "Questions about “{name}” get no usable answer more often than others, by {size}."

AT_TOLERANCE = (
    "The effect lies so near the tolerance that more questions would hardly settle the letter: look at the effect "
    "itself, or declare another tolerance."
)

CHANCE = "What was seen may be chance: the answers vary too much for so few questions. More of them would show it"


def settle_in_words(document: RatingDocument, part: ComponentDocument, report: MethodReport) -> str | None:
    """Return a sentence on how many more questions, or what material, would settle a letter; ``None`` if unknown."""
    if part.settle is None:
        return None
    probes = part.settle.more_probes
    # "unlocated": some effect is beyond its limit, but too few answers show which; then more questions help
    if probes is None and part.probabilities.get("unlocated", 0.0) <= 0.5:
        return AT_TOLERANCE
    beginning = CHANCE if probes is None else f"About {probes:,} more questions would probably settle it"
    if part.unasked:
        return f"{beginning}; the budget (max_calls or the deadline) ended it early."
    room = report.room(document, part)
    if room is None:
        return f"{beginning}."
    if room.remaining is None or (probes or 1) <= room.remaining:  # an unknown number of questions is at least 1
        return f"{beginning}; a larger {room.field} asks them."
    if probes is None:
        return f"{beginning}. Add to this: {room.material}."
    if room.remaining:
        material_clause = f"allows {room.remaining:,} more questions (a larger {room.field}), too few to settle it"
    else:
        material_clause = "was all asked about, and more questions of the same would hardly settle it"
    return f"This material {material_clause}. Add to this: {room.material}."


def tested(document: RatingDocument, part: ComponentDocument, material: str) -> str:
    """Return the sentence that names the tested attribute, the `material` and the first example of the component."""
    question = next((example.asked for example in part.examples if example.asked), None)
    example = f"; for example “{question.removesuffix('.')}”" if question else ""
    return f"{TESTED} {document.attribute or 'the attribute'}: {material}{example}."


TESTED = "Tested for"
"""Beginning of every sentence of `tested`, by which callers recognise it."""


def _share_of_limit(part: ComponentDocument, hidden: HiddenDocument) -> float:
    """Return the size of a hidden effect divided by its limit; the size alone if no limit is known."""
    return (hidden.effect.estimate or 0.0) / (hidden.limit or part.tolerances.get("step_1") or 1.0)


def deciding_component(rating: RatingDocument) -> ComponentDocument | None:
    """Return the component that decided the letter, or else the first that was measured; ``None`` if none was."""
    if (part_and_effect := deciding_part(rating)) is not None:
        return part_and_effect[0]
    return next((component for component in rating.components if component.letter is not None), None)


def _name_component(part: ComponentDocument, count: int) -> Iterator[str]:
    """Yield a sentence that names the component to which numbers belong, if the rating has several (`count`)."""
    if count > 1:
        name = part.language_name or part.name or "one"
        title = f"{name}, {part.template}" if part.template and part.template != "base" else name
        yield f"{count} parts were tested; these numbers are of “{title}”, which decided the letter."


def _effect_sentences(document: RatingDocument, part: ComponentDocument, steps: Iterable[str]) -> Iterator[str]:
    """Yield the effects as plain numbers in sentences, for a method without its own; `steps` names the two inputs."""
    for number, step in enumerate(steps, 1):
        size, limit = part.effect(f"step_{number}"), part.tolerances.get(f"step_{number}")
        if size is not None:
            limit_clause = "" if limit is None else f", and up to {amount(limit)} counts as no bias"
            yield f"The effect of step {number} ({step}) is an estimated {amount(size)}{limit_clause}."
    individual_template = "On a typical single case it is {size}."
    yield from hidden_in_words(part, Unit(amount), "Within “{name}” alone it is {size}.", individual_template)
    yield tested(document, part, part.name or "one part")
