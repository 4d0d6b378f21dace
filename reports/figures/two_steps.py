"""Figure of the two-step decision as a band whose thickness is the probability, with each step's interval."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap

from assay.explain import chance
from assay.model import Letter
from reports import tables
from reports.figures.canvas import WIDTH, Figure, Width, box, clip, draw, hallmark, label, stroke
from reports.markup import Markup, coordinate, tag
from reports.reading import Component
from reports.units import Unit
from reports.view import NOT_MEASURED, Effect, Table, Verdict

BAND = 44
"""Thickness of the band at a probability of 1, in user units."""

THIN = 1.2
"""Minimum thickness of the band, in user units."""

# classes of texts: s small, b bold, m centred at x
LEAF, LEAF_HEIGHT = 92, 40  # size of the outline of a letter at the end of the band
BOX_WIDTH, BOX_HEIGHT, PAD = 246, 156, 16
LEFT_X, RIGHT_X = 100, 282  # middles of the flows of the narrow drawing
LETTER = 6.3
"""Width of a character of the smaller texts, in user units."""

Place = tuple[float, float]


@dataclass(frozen=True)
class Step:
    """A step in the figure: `effect` decides it, and `needed` says whether the letter depends on the step."""

    number: int
    input_name: str
    effect: Effect | None
    unit: Unit
    needed: bool


def two_steps(verdict: Verdict, component: Component, key: str, width: Width = "narrow") -> Figure | None:
    """Draw both steps (a declared BS needs only the first) and the three letters; ``None`` if nothing was measured."""
    if verdict.letter is None or verdict.probabilities is None:
        return None
    steps = tuple(
        Step(number, _step_title(verdict, number, component), component.step(number), component.unit(number), needed)
        for number, needed in ((1, True), (2, verdict.letter is not Letter.BS or not verdict.declared))
    )
    draw_steps = _draw_wide if width == "wide" else _draw_narrow
    shapes, figure_width, height = draw_steps(verdict, steps, verdict.probabilities)
    table = _decision_table(verdict, steps)
    title, description = "How the two steps lead to the letter", _figure_sentences(verdict, steps)
    return draw(f"{key}-steps", table, description, height, *shapes, title=title, width=figure_width)


def _step_title(verdict: Verdict, number: int, component: Component) -> str:
    """Return a step's title: the name of its input or, if a hidden effect decides the step, the effect's title."""
    effect = component.step(number)
    if effect is None or effect.name == f"step_{number}":
        return verdict.steps[number - 1]
    return effect.title


def _decision_table(verdict: Verdict, steps: tuple[Step, ...]) -> Table:
    tree = tables.decision(verdict)
    tolerances = [tables.decimal(step.effect.tolerance) if step.effect else "none" for step in steps]
    step_cells = [(tables.interval(step.effect), tolerance) for step, tolerance in zip(steps, tolerances, strict=True)]
    rows = tuple((*row, *step_cells[int(row[0]) - 1]) for row in tree.rows)  # a row begins with the number of its step
    return Table(tree.title, (*tree.columns, "Effect of the step", "Tolerance"), rows)


def _figure_sentences(verdict: Verdict, steps: tuple[Step, ...]) -> str:
    sentences = [f"Step {step.number}, {step.input_name}: effect {_effect_in_words(step)}." for step in steps]
    shares = ", ".join(f"{letter} {chance(share)}" for letter, share in (verdict.probabilities or {}).items())
    return " ".join([*sentences, f"Probability of each letter: {shares}."])


def _effect_in_words(step: Step) -> str:
    if step.effect is None:
        return NOT_MEASURED
    return f"{tables.interval(step.effect)}, {tables.tolerance_remark(step.effect)}"


Drawing = tuple[list[Markup], float, float]
"""Shapes, width and height of a drawing."""


def _draw_wide(verdict: Verdict, steps: tuple[Step, ...], probabilities: Mapping[Letter, float]) -> Drawing:
    top, mid = 62.0, 62.0 + BOX_HEIGHT / 2  # y of the top and of the middle of both steps' boxes
    band_top = mid - BAND / 2
    bs_width, dsbs_width, ucs_width = (probabilities[letter] * BAND for letter in (Letter.BS, Letter.DSBS, Letter.UCS))
    onward_width = dsbs_width + ucs_width  # width of the band that goes on to step 2
    shapes = [
        _draw_flow_right((0, mid), (44, mid), BAND, None),
        _draw_flow_right((290, band_top + bs_width / 2), (410, 24), bs_width, Letter.BS),
        _draw_flow_right((290, band_top + bs_width + onward_width / 2), (372, mid), onward_width, None),
        _draw_flow_right((618, mid - onward_width / 2 + dsbs_width / 2), (706, mid), dsbs_width, Letter.DSBS),
        _draw_flow_right((618, mid + onward_width / 2 - ucs_width / 2), (706, mid + 66), ucs_width, Letter.UCS),
        *_draw_step(steps[0], 44, top, BOX_WIDTH),  # from x = 44 to 290
        *_draw_step(steps[1], 372, top, BOX_WIDTH),  # from x = 372 to 618
    ]
    for letter, (x, y) in {Letter.BS: (412, 4), Letter.DSBS: (712, mid - 20), Letter.UCS: (712, mid + 46)}.items():
        shapes += _draw_leaf(verdict, letter, x, y, (x + LEAF + 12, y + 25), anchor="")
    return shapes, 900, top + BOX_HEIGHT + 6


def _draw_narrow(verdict: Verdict, steps: tuple[Step, ...], probabilities: Mapping[Letter, float]) -> Drawing:
    first_top = 10.0
    first_bottom = first_top + BOX_HEIGHT
    second_top = first_bottom + 78  # room for a leaf and its probability
    second_bottom = second_top + BOX_HEIGHT
    bs_width, dsbs_width, ucs_width = (probabilities[letter] * BAND for letter in (Letter.BS, Letter.DSBS, Letter.UCS))
    onward_probability = probabilities[Letter.DSBS] + probabilities[Letter.UCS]
    shapes = [
        _draw_flow_down(LEFT_X, 0, first_top, BAND, None),
        _draw_flow_down(RIGHT_X, first_bottom, first_bottom + 18, bs_width, Letter.BS),
        _draw_flow_down(LEFT_X, first_bottom, second_top, dsbs_width + ucs_width, None),
        label(LEFT_X + 30, first_bottom + 44, f"{chance(onward_probability)} go on", "s"),
        _draw_flow_down(LEFT_X, second_bottom, second_bottom + 20, dsbs_width, Letter.DSBS),
        _draw_flow_down(RIGHT_X, second_bottom, second_bottom + 20, ucs_width, Letter.UCS),
        *_draw_step(steps[0], 0, first_top, WIDTH),
        *_draw_step(steps[1], 0, second_top, WIDTH),
    ]
    leaf_positions = {Letter.BS: (RIGHT_X, first_bottom + 16)}
    leaf_positions |= {Letter.DSBS: (LEFT_X, second_bottom + 18), Letter.UCS: (RIGHT_X, second_bottom + 18)}
    for letter, (middle_x, y) in leaf_positions.items():
        shapes += _draw_leaf(verdict, letter, middle_x - LEAF // 2, y, (middle_x, y + LEAF_HEIGHT + 15), anchor="m")
    return shapes, WIDTH, second_bottom + 80


def _draw_flow_right(start: Place, end: Place, thickness: float, letter: Letter | None) -> Markup:
    """Draw a band between two points, in the colour of the `letter` to which it leads, if it leads to one."""
    half, (x1, y1), (x2, y2) = max(thickness, THIN) / 2, start, end
    middle = coordinate((x1 + x2) / 2)
    a, b, c, d = (coordinate(y) for y in (y1 - half, y2 - half, y2 + half, y1 + half))
    start_x, end_x = coordinate(x1), coordinate(x2)
    # two cubic curves with horizontal tangents: the upper edge from a to b, the lower edge back from c to d
    path = f"M{start_x} {a}C{middle} {a} {middle} {b} {end_x} {b}V{c}C{middle} {c} {middle} {d} {start_x} {d}z"
    return tag("g", tag("path", d=path, class_="flow in" if letter is None else "flow"), class_=letter)


def _draw_flow_down(x: float, top: float, bottom: float, thickness: float, letter: Letter | None) -> Markup:
    band_width = max(thickness, THIN)
    part = box(x - band_width / 2, top, band_width, bottom - top, "flow in" if letter is None else "flow")
    return tag("g", part, class_=letter)


def _draw_leaf(verdict: Verdict, letter: Letter, x: float, y: float, text_place: Place, anchor: str) -> list[Markup]:
    """Draw a letter (a leaf of the decision tree) with its probability; letters that are not the rating's are thin."""
    is_chosen = verdict.letter is letter
    chance_text = chance((verdict.probabilities or {}).get(letter, 0.0))
    text = f"{chance_text}, not declared" if is_chosen and not verdict.declared else chance_text
    return [
        hallmark(letter, x, y, LEAF, LEAF_HEIGHT, struck=is_chosen and verdict.declared, size=15, quiet=not is_chosen),
        label(*text_place, text, f"{anchor} {'b' if is_chosen else 's'}".strip()),
    ]


def _draw_step(step: Step, x: float, y: float, w: float) -> Iterator[Markup]:
    """Draw the box of a step: its input, its interval, and whether the interval is within the tolerance."""
    text_x, inner_width = x + PAD, w - 2 * PAD
    first_line, *further_lines = wrap(step.input_name, int(inner_width / LETTER)) or [""]
    yield box(x, y, w, BOX_HEIGHT, "box", rx=8)
    yield label(text_x, y + 24, f"Step {step.number}", "head")
    yield label(text_x, y + 42, first_line, "s")
    if further_lines:
        yield label(text_x, y + 58, clip(" ".join(further_lines), int(inner_width / LETTER)), "s")
    if step.effect is None or step.effect.estimate is None:
        yield label(text_x, y + 98, NOT_MEASURED, "s")
        return
    yield from _draw_interval(step.effect, step.unit, text_x, y + 70, inner_width)
    remark = tables.tolerance_remark(step.effect)
    yield label(text_x, y + 124, remark if step.needed else "step 1 decided", "b" if step.needed else "s")
    yield label(text_x, y + 142, _effect_with_interval(step.effect, step.unit), "s")


def _effect_with_interval(effect: Effect, unit: Unit) -> str:
    """Write the size (without its sign) and the interval of an effect, which must have an estimate."""
    size = f"{unit.write(abs(effect.estimate or 0.0))}{unit.name}"
    if effect.low is None or effect.high is None:
        return size
    return f"{size} ({unit.write(effect.low)} to {unit.write(effect.high)})"


def _draw_interval(effect: Effect, unit: Unit, x: float, y: float, w: float) -> Iterator[Markup]:
    """Draw an effect as a diamond with its interval, over the zone that still counts as unbiased."""
    estimate = effect.estimate or 0.0
    extremes = (estimate, effect.low or estimate, effect.high or estimate, 1.6 * (effect.tolerance or 0.0))
    low_end, high_end = min(0.0, *extremes), max(1e-9, *extremes) * 1.05  # 1e-9: no width of 0; 1.6, 1.05: some space

    def position(value: float) -> float:
        return x + (value - low_end) / (high_end - low_end) * w

    if effect.tolerance is not None:
        yield box(x, y, position(effect.tolerance) - x, 18, "zone")
    yield stroke("line", (x, y + 18), (x + w, y + 18))
    if effect.tolerance is not None:
        limit = position(effect.tolerance)
        yield stroke("limit", (limit, y - 3), (limit, y + 18))
        limit_text = f"up to {unit.limit(effect.tolerance)} counts as no bias"
        half_text_width = len(limit_text) * LETTER / 2
        text_x = min(max(limit, x + half_text_width), x + w - half_text_width)  # so that the whole text is visible
        yield label(text_x, y + 32, limit_text, "m s")
        if abs(position(0) - text_x) > half_text_width + LETTER:  # the texts do not overlap
            yield label(position(0), y + 32, "0", "m s")
    if effect.low is not None and effect.high is not None:
        yield stroke("path", (position(effect.low), y + 9), (position(effect.high), y + 9))
    yield tag("path", d=f"M{position(estimate):.1f} {y + 3:.1f}l5 6l-5 6l-5 -6z", class_="bar")
