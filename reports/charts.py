"""Builders of figures from lists of a rating document, for the reports of methods.

The functions return a figure or a table; a figure without numbers is ``None``.
`reports.figures.figure_svg` draws the figures.
"""

from collections.abc import Sequence

from assay.document import EffectDocument
from reports import cells
from reports.plain import visible
from reports.sheets import shown_suffix
from reports.view import Curve, Forest, Mark, Span, Table

MOST_MARKS = 28
"""Maximum number of rows of a figure, which fit on a page."""

MOST_WORDS = 16
"""Maximum number of rows of a figure with two marks in each row."""

CURVE_TABLE_POINTS = 9
"""Number of points of a curve that its table lists."""


def span(effect: EffectDocument) -> Span | None:
    """Convert an estimate with its interval to a `Span`; ``None`` if there is no estimate."""
    return None if effect.estimate is None else Span(effect.estimate, effect.low, effect.high)


def forest(
    title: str,
    axis: str,
    rows: Sequence[tuple[str, Span | None]],
    *,
    reference: float | None = None,
    tolerance: float | None = None,
    head: str = "",
) -> Forest | None:
    """Return a forest plot of (name, span) `rows`; ``None`` if no row has a span. `head` titles its table's names."""
    all_marks = tuple(Mark(visible(name), (row_span,)) for name, row_span in rows if row_span is not None)
    if not all_marks:
        return None
    marks = all_marks[:MOST_MARKS]
    title += shown_suffix(marks, all_marks)
    table = forest_table(title, head, marks, kinds=())
    return Forest(title, axis, marks, table, reference=reference, tolerance=tolerance)


def forest_table(title: str, head: str, marks: Sequence[Mark], kinds: tuple[str, ...]) -> Table:
    """Return a forest plot's numbers as a table: names under `head`, and a column for each of `kinds` (or only one)."""
    columns = {head: tuple(mark.label for mark in marks)}
    for kind_index, kind in enumerate(kinds or ("Estimate",)):  # without kinds, each mark has one span
        spans = [mark.spans[kind_index] for mark in marks]
        effects = [None if span is None else EffectDocument(span.estimate, span.low, span.high) for span in spans]
        columns[kind] = cells.intervals(effects)
    return Table.of_columns(title, columns)


def curve_table(title: str, head: str, curves: Sequence[Curve]) -> Table:
    """Return a table with a row for each curve: its `y` at `CURVE_TABLE_POINTS` values of the `x` that all share."""
    x = curves[0].x
    # a set, because a curve may have fewer points than the table
    indices = sorted({round(step * (len(x) - 1) / (CURVE_TABLE_POINTS - 1)) for step in range(CURVE_TABLE_POINTS)})
    rows = tuple((curve.label, *(f"{curve.y[index]:.2f}" for index in indices)) for curve in curves)
    return Table(title, (head, *(f"{x[index]:.2f}" for index in indices)), rows)
