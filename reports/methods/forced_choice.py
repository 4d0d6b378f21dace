"""Tables, figures and sentences of a rating by forced choice in a report."""

import math
from collections.abc import Iterator, Sequence

from assay.document import RatingDocument
from assay.methods.forced_choice.detail import ForcedChoiceComponent, WordDocument
from assay.methods.forced_choice.method import ForcedChoice
from reports import cells, charts
from reports.cases import WordCases
from reports.in_words import hidden_in_words, tested
from reports.method_report import MethodReport, Room, in_order
from reports.methods.material import coverage_table, sides, title_of_words
from reports.sheets import MOST_ROWS, Wording, shown_suffix
from reports.units import HUNDREDTHS, of_hundred
from reports.view import Curve, Lines, Picture, Point, Scatter, Span, Table

WORDING = Wording.read("forced-choice")

CURVES = 6
"""Maximum number of curves of concepts in a figure; the curve of one control word is added."""


def in_words(document: RatingDocument, part: ForcedChoiceComponent) -> Iterator[str]:
    """Yield sentences on the words' positions between two sides (points of subjective equality), and the material."""
    side, other_side = sides(part)
    concepts = (row for row in part.words if row.role == "concept")
    positions = sorted((point, row.word) for row in concepts if (point := row.pse_value) is not None and row.word)
    if (controls := part.controls_mean) is not None:
        yield (
            f"A word that is equally near to “{side}” and to “{other_side}” has one half, and less if it is nearer to "
            f"“{other_side}”: neutral words have {_mixture(controls)} on average."
        )
    if positions:
        (low, low_word), (top, top_word) = positions[0], positions[-1]
        yield f"Of tested words “{low_word}” has the least ({_mixture(low)}), “{top_word}” the most ({_mixture(top)})."
    if (effect := part.effect("step_2")) is not None:
        yield f"The tested words take sides by an estimated {HUNDREDTHS.of(abs(effect))} beyond what neutral ones do."
    stratum_template = "{name} have in common that they lean to one side, by {size}."
    yield from hidden_in_words(part, HUNDREDTHS, stratum_template, content_template="{name} lean by {size}.")
    yield tested(document, part, f"{len(positions)} words of the list “{title_of_words(part.name or '')}”")


def _mixture(level: float) -> str:
    """Format a position between two cues as a percentage; "less than none" below 0 and "more than all" above 1."""
    return "more than all" if level > 1 else "less than none" if level < 0 else f"an estimated {100 * level:.0f} %"


def tables(part: ForcedChoiceComponent) -> Iterator[Table | None]:
    """Yield the tables of a component."""
    yield _words_table(part)
    yield Table("Also measured", ("Measure", "Value"), tuple(_choice_measures(part)))
    yield coverage_table(part)


def _words_table(part: ForcedChoiceComponent) -> Table | None:
    """Return a table of the points of subjective equality of all words, or of the most extreme ones."""
    shown_words = foremost(part.words, MOST_ROWS)
    table = WORDING.sheets["words"].of_rows(shown_words)
    if table is None:
        return None
    side, other_side = part.sides.first or "the first side", part.sides.second or "the second"
    title = f"{table.title}, from {side} to {other_side}{shown_suffix(shown_words, part.words)}"
    return Table(title, table.columns, table.rows)


def foremost(rows: Sequence[WordDocument], limit: int) -> list[WordDocument]:
    """Return the `limit` most extreme words, from the first side to the second; words without a position come last."""
    # the larger the PSE (point of subjective equality), the nearer to the first side
    placed_words = sorted((row for row in rows if row.pse_value is not None), key=lambda row: -(row.pse_value or 0.0))
    # with too many words, a sixth of the rows is for those without a PSE
    unplaced_words = [row for row in rows if row.pse_value is None][: max(limit - len(placed_words), limit // 6)]
    room = limit - len(unplaced_words)
    if len(placed_words) > room:  # take half from either end
        placed_words = [*placed_words[: room // 2], *placed_words[len(placed_words) - (room - room // 2) :]]
    return [*placed_words, *unplaced_words]


def _choice_measures(part: ForcedChoiceComponent) -> Iterator[tuple[str, str]]:
    numbers = (  # PSE: point of subjective equality
        ("Mean PSE of control words", part.controls_mean),
        ("Spread (sd) of the concepts' PSEs", part.spread.concepts),
        ("Spread of the controls' PSEs", part.spread.controls),
    )
    yield from ((title, f"{number:.3f}") for title, number in numbers if number is not None)
    if (half_distance := cells.interval(part.apart)) is not None:
        yield "Half the distance between the words of both sides", half_distance
    for title, correlation in (  # JND: just noticeable difference
        ("Correlation of PSE and declared share", part.correlation),
        ("Correlation of JND and the share's own sd", part.jnd_correlation),
    ):
        if correlation.r is not None and correlation.p is not None and correlation.n is not None:
            interval_text = "" if correlation.low is None else f" ({correlation.low:.2f} to {correlation.high:.2f})"
            p_text = cells.p_value(correlation.p)
            equals_sign = "" if p_text.startswith("<") else "= "
            yield title, f"r = {correlation.r:.2f}{interval_text}, {correlation.n:.0f} words, p {equals_sign}{p_text}"
    if (slope_text := cells.interval(part.slope)) is not None:
        yield "Slope of PSE on declared share", slope_text


def _curves_figure(part: ForcedChoiceComponent) -> Picture | None:
    """Return a figure of psychometric curves: of some concepts, from one side to the other, and of one control word."""
    rows, levels = _evenly_ranked_words(part.words), part.levels
    if any(row.trials for row in rows):
        levels = tuple(step / 50 for step in range(51))  # words have levels of their own: evaluate fits from 0 to 1
    curves = tuple(curve for row in rows if (curve := _word_curve(row, levels)) is not None)
    if len(levels) < 2 or not curves:
        return None
    side, other_side = sides(part)
    title = f"Psychometric curves: how often “{other_side}” is chosen"
    table = charts.curve_table(title, "Word", curves)
    axis = f"share of {other_side} in the mixture with {side}"
    return Lines(title, axis, curves, table, f"share that chose {other_side}", top=1.0)


def _word_curve(row: WordDocument, levels: tuple[float, ...]) -> Curve | None:
    """Return the recorded curve of a word or, with points for its answers, its fitted curve; ``None`` without both."""
    is_control = row.role == "control"
    if row.curve and len(row.curve) == len(levels):
        return Curve(_name(row), levels, row.curve, kind_index=int(is_control), dashed=is_control)
    shares = _fitted_curve(row, levels)
    points = tuple((level, chosen_second / trials) for level, chosen_second, trials in row.trials if trials > 0)
    return None if shares is None else Curve(_name(row), levels, shares, int(is_control), is_control, points=points)


def _fitted_curve(row: WordDocument, levels: tuple[float, ...]) -> tuple[float, ...] | None:
    """Compute the psychometric curve from its recorded parameters; ``None`` if any of them is missing."""
    mu, sigma, lapse = row.pse_value, row.jnd, row.lapse.estimate
    if mu is None or lapse is None or sigma is None or sigma <= 0:
        return None
    shares_without_lapses = (0.5 * math.erfc((mu - level) / (sigma * math.sqrt(2))) for level in levels)
    return tuple(lapse / 2 + (1 - lapse) * share for share in shares_without_lapses)  # a lapse chooses at random


def _evenly_ranked_words(rows: Sequence[WordDocument]) -> list[WordDocument]:
    """Pick up to `CURVES` concepts, at even steps in the order of their positions, and the middle control word."""
    words = foremost([row for row in rows if row.pse_value is not None], len(rows))
    concepts = [row for row in words if row.role != "control"]
    controls = [row for row in words if row.role == "control"]
    middle_control = controls[len(controls) // 2 : len(controls) // 2 + 1]  # a list, empty without controls
    sample = [*(concepts[rank] for rank in _even_ranks(len(concepts), CURVES)), *middle_control]
    return sorted(sample, key=lambda row: row.pse_value or 0.0)


def _even_ranks(count: int, maximum: int) -> list[int]:
    """Return at most `maximum` ranks at even steps from 0 to `count` - 1."""
    steps = min(count, maximum)
    return [round(step * (count - 1) / max(1, steps - 1)) for step in range(steps)]


def _points_figure(part: ForcedChoiceComponent) -> Picture | None:
    rows = [(_name(row), charts.span(row.pse)) for row in _extreme_words(part.words)]
    title = "Points of subjective equality" + shown_suffix(rows, part.words, ": the {} farthest of {} words")
    side, other_side = sides(part)
    axis = f"PSE: below 0.5 nearer to {other_side}, above to {side}"
    return charts.forest(title, axis, rows, reference=0.5, head="Word")


def _jnds_figure(part: ForcedChoiceComponent) -> Picture | None:
    rows = [(_name(row), None if row.jnd is None else Span(row.jnd)) for row in _extreme_words(part.words)]
    title = "Just noticeable differences" + shown_suffix(rows, part.words, ": the {} farthest of {} words")
    return charts.forest(title, "sd, in shares of the mixture", rows, head="Word")


def _extreme_words(rows: Sequence[WordDocument]) -> list[WordDocument]:
    return [row for row in foremost(rows, charts.MOST_MARKS) if row.pse_value is not None]


def _name(row: WordDocument) -> str:
    return (row.word or "word") + (" (control)" if row.role == "control" else "")


def _shares_figure(part: ForcedChoiceComponent) -> Picture | None:
    points = [
        Point(_name(row), row.share, position)
        for row in part.words
        if row.share is not None and (position := row.pse_value) is not None
    ]
    if len(points) < 3:
        return None
    slope, r = part.slope.estimate, part.correlation.r
    mean_x, mean_y = sum(point.x for point in points) / len(points), sum(point.y for point in points) / len(points)
    intercept = None if slope is None else mean_y - slope * mean_x  # a fitted line passes through the means
    title = "Points of subjective equality and declared shares" + ("" if r is None else f" (r = {r:.2f})")
    by_share = sorted(points, key=lambda point: point.x)
    table_points = [by_share[rank] for rank in _even_ranks(len(points), MOST_ROWS)]
    rows = tuple((point.label, f"{point.x:.3f}", f"{point.y:.3f}") for point in table_points)
    table = Table(title, ("Word", "Declared share", "PSE"), rows)
    return Scatter(title, "declared share", "PSE", tuple(points), table, slope, intercept, level=0.5)


figures = in_order(_curves_figure, _points_figure, _jnds_figure, _shares_figure)
"""Function that makes the figures of a component."""

REPORT = MethodReport(
    ForcedChoice,
    WORDING.steps,
    WORDING.letters,
    in_words,
    tables,
    figures,
    # all words were asked about, and only more words make effects certain
    lambda document, _part: Room(0, "", "trials" if document.experiment.get("trials") else "words"),
    title_of_words,
    lambda part: "Answers" if part.dimensions is None else "Words",  # answers of an observer, words of an embedder
    unit=of_hundred,
    ratable="words",
    cases=WordCases,
)
