"""The figures of the first page of a rating, each with its heading, the line below it, and its numbers as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.explain import chance
from assay.methods.alternation.detail import AlternationComponent
from assay.model import Letter
from assay.rating.document import deciding_effect
from reports import figures, outline, tables
from reports.figures import Figure
from reports.figures.canvas import Width
from reports.reading import Component
from reports.view import Effect, Squares, Table
from web.frame.visit import whole_number
from web.ratings.rating import Rating

WIDTHS: tuple[Width, ...] = ("narrow", "wide")
"""Widths in which a figure is drawn; the key of a drawing, unique on the page, ends with the width."""

TALL = 430
"""Height, in units of the drawing, above which a figure is folded."""

UNLOCATED = "some effect is beyond its limit, but it is not known which"
MIN_PROBABILITY = 0.005
"""Smallest probability that is mentioned."""

WITHIN, BEYOND = "within tolerance", "beyond tolerance"


@dataclass(frozen=True)
class PageFigure:
    """A figure on a page, drawn narrow and wide; the style sheet chooses a drawing by the available width.

    `wide` is ``None`` if one drawing serves both widths. A tall figure is `folded` below its heading. `how` explains
    how to read the figure; `note` is about its numbers.
    """

    heading: str
    how: str
    narrow: Markup
    wide: Markup | None
    table: Table
    folded: bool = False
    note: str = ""


@dataclass(frozen=True)
class SquareSet:
    """Set of squares, each linked to its case; `drawings` has (group, SVG, table) triples, or none if not shown."""

    heading: str
    filled: str
    hollow: str
    drawings: tuple[tuple[str, Markup, Table], ...]


def part_of(rating: Rating, name: str, square_set: str = "") -> dict[str, Any] | None:
    """Return the template's values for the component `name`, or else the deciding one; ``None`` without components.

    `square_set` is the index of the only set of squares that is drawn, because drawing hundreds of squares is slow.
    """
    if not (components := rating.view.components):
        return None
    matches = (component for component in components if component.name == name)
    component = next(matches, None) or rating.view.decider or rating.view.foremost[0]  # if nothing is decided
    component_document = rating.rated.components[component.number - 1]  # as the API returns it; numbers begin with 1
    return {
        "component": component,
        "steps_figure": _steps_figure(rating, component),
        "square_sets": list(_square_sets(rating, component, whole_number(square_set))),
        "evidence_figures": list(filter(None, _evidence_figures(component))),
        "hidden": _hidden_figure(rating, component),
        "tolerances": _tolerances_figure(rating, component),
        "sheets": outline.component_tables(component, omit=outline.DRAWN | {"hidden", "sensitivity"}),
        "scales": component_document.scales if isinstance(component_document, AlternationComponent) else (),
    }


def _figure(
    heading: str, how: str, drawings: Sequence[Figure | None], note: str = "", *, folds: bool = True
) -> PageFigure | None:
    """Return a figure from a single drawing, or from a narrow and a wide drawing; ``None`` if there is no drawing.

    A figure with two drawings is folded if it is tall and `folds`.
    """
    narrow, wide = drawings[0], drawings[-1]
    if narrow is None or wide is None:
        return None
    is_folded = folds and narrow is not wide and narrow.height > TALL
    wide_svg = None if is_folded or wide is narrow else wide.svg
    return PageFigure(heading, how, narrow.svg, wide_svg, narrow.table, folded=is_folded, note=note)


def _steps_figure(rating: Rating, component: Component) -> PageFigure | None:
    """Draw how the two steps led to the letter of the whole rating or, of several components, of this one."""
    is_only_component = len(rating.view.components) == 1
    verdict = rating.view.verdict if is_only_component else component.verdict
    document = rating.rated if is_only_component else rating.rated.components[component.number - 1]
    remainder = document.probabilities.get("unlocated", 0.0)  # probability of no letter
    return _figure(
        "How the letter was reached" if is_only_component else f"How the letter of “{component.title}” was reached",
        "The band is as thick as the probability. A diamond is the effect of a step, the line its interval, "
        "the shaded zone what still counts as unbiased.",
        [figures.two_steps(verdict, component, f"band-{width[0]}", width) for width in WIDTHS],
        note=f"The other {chance(remainder)} go to no letter: {UNLOCATED}." if remainder >= MIN_PROBABILITY else "",
        folds=False,
    )


def _square_sets(rating: Rating, component: Component, shown_index: int | None) -> Iterator[SquareSet]:
    """Yield every set of squares (a square a case); only that at `shown_index`, or of the deciding step, is drawn."""
    pictures = [picture for picture in component.pictures if isinstance(picture, Squares)]
    if shown_index is None:
        step = 1 if rating.view.verdict.letter is Letter.BS else 2  # step 1 decides BS, step 2 the other letters
        shown_index = next((index for index, picture in enumerate(pictures) if picture.step == step), 0)
    shown_index = min(shown_index, len(pictures) - 1)  # a number in the address may be too large
    for index, picture in enumerate(pictures):
        named_cases = picture.cases if index == shown_index else ()  # (name, cases) pairs
        group_figures = [
            (group, figures.linked_squares(picture, group, f"sq{number}", lambda case: rating.case_of(case.search)))
            for number, group in enumerate(dict.fromkeys(case.group for _, cases in named_cases for case in cases))
        ]
        drawings = tuple((group, figure.svg, figure.table) for group, figure in group_figures if figure)
        yield SquareSet(picture.title, picture.filled, picture.hollow, drawings)


def _evidence_figures(component: Component) -> Iterator[PageFigure | None]:
    """Draw the evidence behind the letter: the method's own figures, and for translators the transitions."""
    for index, picture in enumerate(component.pictures):
        if not isinstance(picture, Squares):  # squares are drawn by `_square_sets`
            drawings = [figures.picture(picture, f"p{index}-{width[0]}", width) for width in WIDTHS]
            yield _figure(picture.title, figures.caption(picture), drawings)
    yield _figure(
        _transitions_heading(component),
        "Each row is what was sent, or what it was about, each column what came back; the darker, the more.",
        [figures.transition_heatmap(component, "heat")],
    )
    yield _figure(
        "What was sent and what came back, block by block",
        "For each block of sentences, a hollow bar is the declared share of a value, a solid one what came back.",
        [figures.blocks_bars(component, "blocks")],
    )


def _transitions_heading(component: Component) -> str:
    """Return a heading: how many sentences came back as they were sent or, of a method with groups, a fixed title."""
    if not (total := sum(sum(replies.values()) for replies in component.transitions.values())):
        return "No sentence came back"
    if component.report.groups:
        return tables.OF_GROUPS[0]
    kept_count = sum(replies.get(sent_value, 0) for sent_value, replies in component.transitions.items())
    return f"{kept_count:,.0f} of {total:,.0f} sentences came back as they were sent"


def _hidden_figure(rating: Rating, component: Component) -> PageFigure | None:
    """Draw the effects that the mean can hide; the figure is not folded if one of them decided the letter."""
    effects = [effect for effect in component.hidden if effect.estimate is not None]
    deciding = deciding_effect(component.part, component.part.letter)  # a hidden effect, or a step's own
    return _figure(
        _hidden_heading(effects),
        "A mean can hide effects that go both ways. Each is held against its own limit, the shaded zone.",
        [figures.hidden_forest(component, f"hidden-{width[0]}", width) for width in WIDTHS],
        folds=not (component is rating.view.decider and deciding is not None and deciding.hidden is not None),
    )


def _hidden_heading(effects: Sequence[Effect]) -> str:
    """Return the heading of effects that the mean can hide: those beyond their limits, or how many are undecided."""
    if beyond := [effect.title for effect in effects if tables.tolerance_remark(effect) == BEYOND]:
        remainder = f" and {len(beyond) - 1} more" if len(beyond) > 1 else ""
        return f"Beyond its limit: {beyond[0][:1].lower()}{beyond[0][1:]}{remainder}"
    if undecided := [effect.title for effect in effects if tables.tolerance_remark(effect) != WITHIN]:
        return f"{len(undecided)} of {len(effects)} effects that the mean could hide are undecided"
    return "Nothing beyond its limit hides behind the mean"


def _tolerances_figure(rating: Rating, component: Component) -> PageFigure | None:
    """Draw the letters' probabilities by tolerance (the largest effect that counts as unbiased)."""
    verdicts, tolerance = component.sensitivity.values(), rating.view.document.delta
    leaders = {verdict.letter for verdict in verdicts}
    leader = next(iter(leaders), None)
    totals = [sum(verdict.probabilities.values()) for verdict in verdicts if verdict.probabilities]
    # below 1: the rest of the probability goes to no letter
    gap_note = f" In the gap at the end, {UNLOCATED}." if min(totals, default=1) <= 1 - MIN_PROBABILITY else ""
    return _figure(
        f"{leader} leads at every tolerance" if len(leaders) == 1 else "The tolerance decides which letter leads",
        f"The probability of each letter if another tolerance had been declared.{gap_note}",
        [figures.tolerances_bars(component, tolerance, f"other-{width[0]}", width) for width in WIDTHS],
    )
