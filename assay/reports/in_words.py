"""Paragraph for readers who know no statistics: the letter, the effects, what was tested and what was not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.experiment import Method
from assay.explain import Vocabulary
from assay.model import Letter
from assay.reports import parts
from assay.reports.parts import Part
from assay.reports.plain import visible

AVERAGES = "All of this is about averages: single cases may be treated otherwise."
"""Sentence for a rating that has no hidden effects, or only that of lost replies."""

NOT_TESTED = "Nothing is known of other attributes, languages and content."

OF_UCS = (
    "This letter does not say that the service is fair in every respect, nor that its answers are right: "
    "it covers nothing but what is named here, and no other attribute, language or content."
)


def in_words(document: Part, method: type[Method]) -> tuple[str, ...]:
    """Write the sentences of the paragraph, the meaning of the letter first and the advice last."""
    letter, declared = letter_of(document), document.get("declared") is True
    words = Vocabulary.of(method).letter(letter, declared, reason_codes(document))
    part = _foremost(document, letter)
    if letter is None or part is None:
        return words.meaning, words.advice
    own = [visible(one) for one in method.in_words(document, part) if one]
    measured = parts.objects(document, "components")
    said = [words.meaning, *_which(part, len(measured)), *(own or _common(document, part, method.STEPS))]
    if not any(one.get("kind") != "loss" for one in parts.objects(part, "hidden")):
        said.append(AVERAGES)
    if not declared and (more := settle_in_words(document, part, method)) is not None:
        said.append(more)
    said.append(OF_UCS if declared and letter is Letter.UCS else NOT_TESTED)
    return (*said, words.advice)


def letter_of(part: Part) -> Letter | None:
    """Read the letter of a rating or a component."""
    written = parts.text(part, "letter")
    return Letter(written) if written in set(Letter) else None


def reason_codes(document: Part) -> tuple[str, ...]:
    """List the codes of a rating's reasons."""
    return tuple(filter(None, (parts.text(reason, "code") for reason in parts.objects(document, "reasons"))))


def hundredths(share: float) -> str:
    """Write a share as a count of a hundred: "30", "fewer than 1"."""
    rounded = round(100 * share)
    return str(rounded) if rounded or not share else "fewer than 1"


def amount(size: float) -> str:
    """Write a size with two significant digits, or as a whole number from 100 up: "0.0091", "4.9", "1,142"."""
    if size >= 100:
        return f"{size:,.0f}"
    return f"{float(f'{size:.2g}'):.9f}".rstrip("0").rstrip(".")


def effect(part: Part, name: str) -> float | None:
    """Read the estimate of an effect."""
    return parts.number(parts.mapping(parts.mapping(part, "effects"), name), "estimate")


@dataclass(frozen=True)
class Unit:
    """Unit of a service's output: `write` formats the size of an effect, and `name` follows the size."""

    write: Callable[[float], str]
    name: str = ""

    def of(self, size: float, low: float | None = None, high: float | None = None) -> str:
        """Write a size with its unit, and its interval if there is one."""
        written = f"{self.write(size)}{self.name}"
        if low is None or high is None or self.write(low) == self.write(high):
            return written
        return f"{written} (probably between {self.write(low)} and {self.write(high)})"


def hidden_in_words(
    part: Part,
    unit: Unit,
    stratum: str,
    individual: str = "{size}",
    of_one: Unit | None = None,
    content: str = "",
    strata: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Write the largest hidden effects: on a typical single case, of strata and losses, and of content.

    `stratum`, `individual` and `content` are sentences with ``{name}`` and ``{size}``; `strata` has those of strata
    with a sentence of their own, by name. `of_one` is the unit of the effect on a single case if it differs from
    `unit`. The largest effect is the largest relative to its limit.
    """
    ordered = sorted(parts.objects(part, "hidden"), key=lambda one: -_of_limit(part, one))
    singles = [one for one in ordered if one.get("kind") == "individual"]
    of_content = [one for one in ordered if one.get("kind") == "content"]
    others = [one for one in ordered if one not in singles and one not in of_content]
    for one in (*singles[:1], *others[:1], *of_content[:1]):
        held = parts.mapping(one, "effect")
        estimate, low, high = (parts.number(held, key) for key in ("estimate", "low", "high"))
        if estimate is None:
            continue
        name = parts.text(one, "name") or "a part of the content"
        template, its = (LOSS, HUNDREDTHS) if one.get("kind") == "loss" else (strata.get(name, stratum), unit)
        if one in singles:
            template, its = individual, of_one or unit
        elif one in of_content:
            template = content
        estimated = "an estimated " if one.get("bound") is not True else "at most an estimated "
        sentence = template.format(name=name, size=estimated + its.of(estimate, low, high))
        yield sentence[:1].upper() + sentence[1:]


HUNDREDTHS = Unit(hundredths, " of 100")
LOSS = "Questions about “{name}” stay without a usable answer more often than others, by {size}."

AT_TOLERANCE = (
    "The effect lies so near the tolerance that more questions would hardly settle the letter: look at the effect "
    "itself, or declare another tolerance."
)

CHANCE = "What was seen may be chance: the answers vary too much for so few questions. More of them would show it"


def settle_in_words(document: Part, part: Part, method: type[Method]) -> str | None:
    """Write how many more questions would settle an undeclared component; if they cannot be asked, the alternative."""
    if "settle" not in part:
        return None
    more = parts.count(parts.mapping(part, "settle"), "more_probes")
    if more is None and (parts.number(parts.mapping(part, "probabilities"), "unlocated") or 0.0) <= 0.5:
        return AT_TOLERANCE
    about = CHANCE if more is None else f"About {more:,} more questions would probably settle it"
    if parts.count(part, "unasked"):
        return f"{about}; the budget (max_calls or the deadline) ended it early."
    room = method.room(document, part)
    if room is None:
        return f"{about}."
    if room.left is None or (more or 1) <= room.left:
        return f"{about}; a larger {room.field} asks them."
    if more is None:
        return f"{about}. Add to this: {room.material}."
    if room.left:
        can = f"allows {room.left:,} more questions (a larger {room.field}), too few to settle it"
    else:
        can = "was all asked about, and more questions of the same would hardly settle it"
    return f"This material {can}. Add to this: {room.material}."


def tested(document: Part, part: Part, what: str) -> str:
    """Write the sentence about the tested material and attribute, with the first example of the component."""
    asked = next((text for one in parts.objects(part, "examples") if (text := parts.text(one, "asked"))), None)
    example = f"; for example “{asked.removesuffix('.')}”" if asked else ""
    return f"Tested for {parts.text(document, 'attribute') or 'the attribute'}: {what}{example}."


def _of_limit(part: Part, hidden: Part) -> float:
    """Return the size of a hidden effect divided by its limit."""
    limit = parts.number(hidden, "limit") or parts.number(parts.mapping(part, "tolerances"), "step_1") or 1.0
    return (parts.number(parts.mapping(hidden, "effect"), "estimate") or 0.0) / limit


def _foremost(document: Part, letter: Letter | None) -> Part | None:
    """Return the component with the largest effect among those with the rating's letter; among all if none has it."""
    measured = [one for one in parts.objects(document, "components") if letter_of(one) is not None]
    deciding = [one for one in measured if letter_of(one) is letter] or measured
    step = "step_2" if letter is Letter.DSBS else "step_1"
    return max(deciding, key=lambda one: abs(effect(one, step) or 0.0), default=None)


def _which(part: Part, count: int) -> Iterator[str]:
    """Write which component the numbers belong to, if there are several components."""
    if count > 1:
        name = parts.text(part, "language_name") or parts.text(part, "name") or "one"
        template = parts.text(part, "template")
        named = f"{name}, {template}" if template and template != "base" else name
        yield f"{count} parts were tested; these numbers are of “{named}”, where the effect is largest."


def _common(document: Part, part: Part, steps: Iterable[str]) -> Iterator[str]:
    """Write the effects in the method's effect size, for a method without its own sentences."""
    tolerances = parts.mapping(part, "tolerances")
    for place, step in enumerate(steps, 1):
        size, limit = effect(part, f"step_{place}"), parts.number(tolerances, f"step_{place}")
        if size is not None:
            counts = "" if limit is None else f", and up to {amount(limit)} counts as none"
            yield f"The effect of step {place} ({step}) is an estimated {amount(size)}{counts}."
    within, single = "Within “{name}” alone it is {size}.", "On a typical single case it is {size}."
    yield from hidden_in_words(part, Unit(amount), within, single)
    yield tested(document, part, f"{parts.text(part, 'name') or 'one part'}")
