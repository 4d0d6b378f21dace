"""Tables, figures and sentences of a rating by free text in a report."""

import math
from collections.abc import Iterator, Mapping
from functools import partial

from assay.document import HiddenDocument, RatingDocument
from assay.explain import listed
from assay.methods.free_text.detail import LENGTH, REFUSALS, SCORE, DifferenceDocument, FreeTextComponent
from assay.methods.free_text.method import FreeText
from reports import cells, charts
from reports.cases import WrittenCases
from reports.in_words import hidden_in_words, tested
from reports.method_report import MethodReport, in_order
from reports.methods.material import looks_table, profiles_room, profiles_table
from reports.sheets import Wording
from reports.units import Unit, amount, hundredths
from reports.view import ARROW, Picture, Table

WORDING = Wording.read("free-text")

TITLES: Mapping[str, str] = {REFUSALS: "Refusals to write", LENGTH: "Length of the texts", SCORE: "Scores of the judge"}

STRATUM = "Within “{name}” alone, texts move by {size}."

UNITS: Mapping[str, Unit] = {
    REFUSALS: Unit(hundredths, " of 100 texts"),
    LENGTH: Unit(lambda size: amount(100 * math.expm1(size)), " %"),
    SCORE: Unit(amount, " standard deviations of the judge's scores"),
}


def in_words(document: RatingDocument, part: FreeTextComponent) -> Iterator[str]:
    """Yield sentences on how much texts differ, compared with repeated texts, and on the tested material."""
    unit, noise = _unit(document, part), part.noise
    if part.name == REFUSALS and part.replies:
        refusal_phrases = [
            f"{counts.get('refusals', 0):,.0f} of {sum(counts.values()):,.0f} with “{value}”"
            for value, counts in part.replies.items()
        ]
        yield f"The model refused to write {listed(refusal_phrases)}."
    # `shift` is a difference of the numbers as measured, `effect` its estimate in the unit of the tolerance
    largest = max(part.pairs, key=lambda pair: abs(pair.shift or 0.0), default=DifferenceDocument())
    if largest.effect.estimate is not None and part.name != REFUSALS:
        before, after = largest.from_, largest.to
        if largest.effect.estimate < 0:  # name the larger value last
            before, after = after, before
        template = "texts are {} longer" if part.name == LENGTH else "the judge's scores are {} higher"
        comparison = template.format(unit.of(abs(largest.effect.estimate)))
        yield f"With “{after}” instead of “{before}” and nothing else changed, {comparison} on average."
    if noise.values is not None and noise.repeats is not None and part.name != REFUSALS:
        yield (
            f"Texts for one prompt differ by {unit.of(noise.values)} between values; repeated texts alone would make "
            f"them differ by {unit.of(noise.repeats)}."
        )
    if (gap := part.effect("step_2")) is not None:
        where = "Where one group comes mostly with one kind of occupation"
        yield f"{where}, the groups' averages differ by an estimated {unit.of(abs(gap))}."
    if part.judge.lean.estimate is not None:
        lean = UNITS[SCORE].of(part.judge.lean.estimate, part.judge.lean.low, part.judge.lean.high)
        yield f"If only group words are exchanged, the judge scores one text differently, by an estimated {lean}."
    yield from hidden_in_words(part, unit, STRATUM)
    values = listed([f"“{value}”" for value in part.values])
    yield tested(document, part, f"{part.profiles.asked or 0:,} prompts, each with {values}")


def _unit(document: RatingDocument, part: FreeTextComponent, hidden: HiddenDocument | None = None) -> Unit:  # noqa: ARG001
    return UNITS.get(part.name or "", Unit(amount))


def figures(part: FreeTextComponent) -> Iterator[Picture | None]:
    """Yield the figures of a component; ``None`` for a figure without data."""
    rows = [(ARROW.join((pair.from_ or "?", pair.to or "?")), charts.span(pair.effect)) for pair in part.pairs]
    title, axis = "What changing the attribute changes", "shift for the same prompts, in the unit of the tolerance"
    yield charts.forest(title, axis, rows, reference=0.0, tolerance=part.tolerances.get("step_1"), head="Pair")


def _replies_table(part: FreeTextComponent) -> Table | None:
    rows = tuple(
        (value, cells.number(replies.get("texts")), cells.number(replies.get("refusals")))
        for value, replies in part.replies.items()
    )
    return Table("Texts and refusals", ("Value", "Texts", "Refusals"), rows) if rows else None


def _noise_table(part: FreeTextComponent) -> Table | None:
    if part.noise.values is None:
        return None
    rows = (
        ("between values, for one prompt", cells.number(part.noise.values)),
        ("of repeated texts alone", cells.number(part.noise.repeats)),
    )
    return Table("Differences (root mean square) and their noise", ("Difference", "Size"), rows)


def _judge_table(part: FreeTextComponent) -> Table | None:
    judge = part.judge
    if judge.limit is None:
        return None
    rows = (
        ("label that counts", judge.label or cells.ABSENT),
        ("difference between versions of one text, in standard deviations", cells.number(judge.lean.estimate)),
        ("largest difference that is allowed", cells.number(judge.limit)),
        ("texts with versions that differ", cells.number(judge.rewritten)),
        ("readable answers", cells.number(judge.usable)),
        ("unreadable answers", cells.number(sum(judge.unusable_why.values()))),
        ("failed calls", cells.number(sum(judge.failed_why.values()))),
    )
    return Table("The judge", ("Judge", "Number"), rows)


REPORT = MethodReport(
    FreeText,
    WORDING.steps,
    WORDING.letters,
    in_words,
    in_order(
        profiles_table,
        _replies_table,
        _noise_table,
        _judge_table,
        *(sheet.of for sheet in WORDING.sheets.values()),
        looks_table,
    ),
    figures,
    partial(profiles_room, field="most_prompts"),
    lambda name: TITLES.get(name, name),
    lambda _: "Texts",
    _unit,
    ratable="prompts",
    cases=WrittenCases,
)
