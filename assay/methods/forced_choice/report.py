"""Tables and figures of forced choice in a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from assay.experiment import Room
from assay.methods.shared.report import coverage_table, sides, title_of_words
from assay.reports import cells, charts, parts
from assay.reports.in_words import HUNDREDTHS, effect, hidden_in_words, tested
from assay.reports.parts import Part
from assay.reports.sheets import MOST_ROWS, Sheet, some_of
from assay.reports.view import Lines, Picture, Point, Scatter, Series, Table

CURVES = 6
"""Maximum number of curves of concepts in a figure; the curve of one control word is added."""

WORDS = Sheet(
    "words",
    "Points of subjective equality",
    (
        ("Word", "word", cells.texts),
        ("Role", "role", cells.texts),
        ("Declared share", "share", cells.numbers),
        ("PSE", "pse", cells.intervals),
        ("JND (sd)", "jnd", cells.numbers),
        ("JND to 75 %", "jnd_75", cells.numbers),
        ("Why there is none", "why", cells.texts),
    ),
)
"""Table of the words; of many words, the most extreme on both sides are shown."""


def counted(part: Part) -> str:
    """Return the plural noun for what a component counts: words of an embedder, answers of an observer."""
    return "Words" if "dimensions" in part else "Answers"


def in_words(document: Part, part: Part) -> Iterator[str]:
    """Yield sentences: where words lie between the two sides, and what was tested."""
    first, second = sides(part)
    concepts = [row for row in parts.objects(part, "words") if row.get("role") == "concept"]
    placed = sorted(
        (at, word) for row in concepts if (at := _place(row)) is not None and (word := parts.text(row, "word"))
    )
    if (controls := parts.number(part, "controls_mean")) is not None:
        yield (
            f"The nearer a word is to “{second}”, the less “{second}” balances it in a mixture with “{first}”: half "
            f"for a word that takes no side, and {_mixed(controls)} for neutral words on average."
        )
    if placed:
        (low, nearest), (high, farthest) = placed[0], placed[-1]
        yield f"Of tested words “{nearest}” takes the least ({_mixed(low)}), “{farthest}” the most ({_mixed(high)})."
    if (more := effect(part, "step_2")) is not None:
        yield f"The tested words take sides by an estimated {HUNDREDTHS.of(abs(more))} beyond what neutral ones do."
    shared = "{name} have in common that they lean to one side, by {size}."
    yield from hidden_in_words(part, HUNDREDTHS, shared, content="{name} lean by {size}.")
    yield tested(document, part, f"{len(placed)} words of the list “{title_of_words(parts.text(part, 'name') or '')}”")


def _mixed(level: float) -> str:
    """Write a PSE as a share of the mixture; a PSE may lie below 0 or above 1."""
    return "more than all" if level > 1 else "less than none" if level < 0 else f"an estimated {100 * level:.0f} %"


def room(document: Part, part: Part) -> Room | None:  # noqa: ARG001
    """Return 0 as the number of further questions: every word was asked about, and the effect varies between words."""
    return Room(0, "", "trials" if parts.mapping(document, "experiment").get("trials") else "words")


def tables(part: Part) -> Iterator[Table | None]:
    """Make the tables of a component."""
    yield _words(part)
    yield Table("Also measured", ("Measure", "Value"), tuple(_of_choices(part)))
    yield coverage_table(part)


def figures(part: Part) -> Iterator[Picture | None]:
    """Make the figures of a component."""
    yield _curves(part)
    yield _points(part)
    yield _jnds(part)
    yield _shares(part)


# ---------------------------------------------------------------------------- tables
def _words(part: Part) -> Table | None:
    """Points of subjective equality of all words, or of the most extreme ones."""
    every = parts.objects(part, "words")
    kept = foremost(every, MOST_ROWS)
    table = WORDS.read(kept)
    if table is None:
        return None
    held = parts.mapping(part, "sides")
    first, second = parts.text(held, "first") or "the first side", parts.text(held, "second") or "the second"
    return Table(f"{table.title}, from {first} to {second}{some_of(kept, every)}", table.columns, table.rows)


def foremost(rows: Sequence[Part], most: int) -> list[Part]:
    """Return at most `most` words, the most extreme on both sides, ordered from the first side to the second.

    Words without a ``pse`` come last.
    """
    placed = [(parts.number(parts.mapping(row, "pse"), "estimate"), row) for row in rows]
    known = sorted(((place, row) for place, row in placed if place is not None), key=lambda pair: -pair[0])
    without = [row for place, row in placed if place is None]
    rest = without[: max(most - len(known), most // 6)]
    room = most - len(rest)
    if len(known) > room:
        known = [*known[: room // 2], *known[len(known) - (room - room // 2) :]]
    return [*(row for _, row in known), *rest]


def _of_choices(part: Part) -> Iterator[tuple[str, str]]:
    mean = parts.number(part, "controls_mean")
    if mean is not None:
        yield "Mean PSE of control words", f"{mean:.3f}"
    for key, title in (("concepts", "Spread (sd) of the concepts' PSEs"), ("controls", "Spread of the controls' PSEs")):
        spread = parts.number(parts.mapping(part, "spread"), key)
        if spread is not None:
            yield title, f"{spread:.3f}"
    if (apart := cells.interval(part, "apart")) is not None:
        yield "Half the distance between the words of both sides", apart
    for key, title in (
        ("correlation", "Correlation of PSE and declared share"),
        ("jnd_correlation", "Correlation of JND and the share's own sd"),
    ):
        held = parts.mapping(part, key)
        r, p, words = (parts.number(held, name) for name in ("r", "p", "n"))
        if r is not None and p is not None and words is not None:
            ends = "" if held.get("low") is None else f" ({held['low']:.2f} to {held['high']:.2f})"
            yield title, f"r = {r:.2f}{ends}, {words:.0f} words, p {_equal(p)}"
    line = cells.interval(part, "slope")
    if line is not None:
        yield "Slope of PSE on declared share", line


def _equal(p: float) -> str:
    written = cells.p_value(p)
    return written if written.startswith("<") else f"= {written}"


# ---------------------------------------------------------------------------- figures
def _curves(part: Part) -> Picture | None:
    """Psychometric curves of words at evenly spaced ranks, and of one control word."""
    rows = _spread_out(parts.objects(part, "words"))
    levels = charts.numbers_in(part, "levels")
    if any("trials" in row for row in rows):
        levels = tuple(place / 50 for place in range(51))
    series = tuple(one for row in rows if (one := _curve(row, levels)) is not None)
    if len(levels) < 2 or not series:
        return None
    first, second = sides(part)
    title = f"Psychometric curves: how often “{second}” is chosen"
    twin = charts.sampled(title, "Word", levels, series)
    return Lines(title, f"share of {second} in the mixture with {first}", levels, series, twin, top=1.0)


def _curve(row: Part, levels: tuple[float, ...]) -> Series | None:
    written, control = charts.numbers_in(row, "curve"), row.get("role") == "control"
    if written and len(written) == len(levels):
        return Series(_word(row), written, int(control), dashed=control)
    fitted = _fitted(row, levels)
    return None if fitted is None else Series(_word(row), fitted, int(control), dashed=control, points=_chosen(row))


def _fitted(row: Part, levels: tuple[float, ...]) -> tuple[float, ...] | None:
    """Compute the psychometric curve from its recorded parameters (METHODS section 4)."""
    mu, lapse = (parts.number(parts.mapping(row, key), "estimate") for key in ("pse", "lapse"))
    sigma = parts.number(row, "jnd")
    if mu is None or lapse is None or sigma is None or sigma <= 0:
        return None
    rises = (0.5 * math.erfc((mu - level) / (sigma * math.sqrt(2))) for level in levels)
    return tuple(lapse / 2 + (1 - lapse) * one for one in rises)


def _chosen(row: Part) -> tuple[tuple[float, float], ...]:
    """Return the recorded share of choices at each level."""
    written = row.get("trials")
    trials = [one for one in written if isinstance(one, list) and len(one) == 3] if isinstance(written, list) else []
    known = [tuple(number for each in one if (number := parts.finite(each)) is not None) for one in trials]
    return tuple((one[0], one[1] / one[2]) for one in known if len(one) == 3 and one[2] > 0)


def _spread_out(rows: Sequence[Part]) -> list[Part]:
    """Pick concepts at evenly spaced ranks of their PSE, and the control word of the middle rank."""
    ordered = foremost([row for row in rows if _place(row) is not None], len(rows))
    concepts = [row for row in ordered if row.get("role") != "control"]
    controls = [row for row in ordered if row.get("role") == "control"]
    if len(concepts) > CURVES:
        concepts = [concepts[round(place * (len(concepts) - 1) / (CURVES - 1))] for place in range(CURVES)]
    picked = [*concepts, *controls[len(controls) // 2 : len(controls) // 2 + 1]]
    return sorted(picked, key=lambda row: _place(row) or 0.0)


def _place(row: Part) -> float | None:
    return parts.number(parts.mapping(row, "pse"), "estimate")


def _points(part: Part) -> Picture | None:
    """The point of subjective equality of each word."""
    every = parts.objects(part, "words")
    rows = [(_word(row), charts.span(parts.mapping(row, "pse"))) for row in _farthest(every)]
    title = "Points of subjective equality" + _of(rows, every)
    first, second = sides(part)
    return charts.forest(title, f"below 0.5 nearer to {second}, above to {first}", rows, reference=0.5, head="Word")


def _jnds(part: Part) -> Picture | None:
    """The just noticeable difference of each word."""
    every = parts.objects(part, "words")
    rows = [(_word(row), charts.span({"estimate": row.get("jnd")})) for row in _farthest(every)]
    return charts.forest(
        "Just noticeable differences" + _of(rows, every), "sd, in shares of the mixture", rows, head="Word"
    )


def _farthest(rows: Sequence[Part]) -> list[Part]:
    return [row for row in foremost(rows, charts.MOST_MARKS) if _place(row) is not None]


def _of(shown: Sequence[Any], every: Sequence[Any]) -> str:
    return f": the {len(shown)} farthest of {len(every)} words" if len(shown) < len(every) else ""


def _word(row: Part) -> str:
    return (parts.text(row, "word") or "word") + (" (control)" if row.get("role") == "control" else "")


def _shares(part: Part) -> Picture | None:
    """Points of subjective equality against the declared shares."""
    known = [
        Point(_word(row), share, place)
        for row in parts.objects(part, "words")
        if (share := parts.number(row, "share")) is not None and (place := _place(row)) is not None
    ]
    if len(known) < 3:
        return None
    slope = parts.number(parts.mapping(part, "slope"), "estimate")
    middle = [sum(axis) / len(known) for axis in (([one.x for one in known]), ([one.y for one in known]))]
    intercept = None if slope is None else middle[1] - slope * middle[0]
    r = parts.number(parts.mapping(part, "correlation"), "r")
    title = "Points of subjective equality and declared shares" + ("" if r is None else f" (r = {r:.2f})")
    ordered = sorted(known, key=lambda one: one.x)
    shown = [ordered[round(place * (len(ordered) - 1) / 59)] for place in range(60)] if len(ordered) > 60 else ordered
    twin = Table(title, ("Word", "Declared share", "PSE"), tuple((o.label, f"{o.x:.3f}", f"{o.y:.3f}") for o in shown))
    return Scatter(title, "declared share", "PSE", tuple(known), twin, slope, intercept, level=0.5)
