"""Tables and figures of stimulus sampling in a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.experiment import Room
from assay.explain import listed
from assay.methods.shared.report import looks_table, profiles_room, profiles_table
from assay.reports import cells, charts, parts
from assay.reports.in_words import HUNDREDTHS, hidden_in_words, tested
from assay.reports.parts import Part
from assay.reports.sheets import Sheet, some_of
from assay.reports.view import Forest, Mark, Picture, Point, Scatter, Table

SHEETS = (
    *(
        Sheet(
            key,
            f"{title} to what makes it say yes",
            (
                ("Word", "word", cells.texts),
                ("Slot", "slot", cells.texts),
                ("Share of inputs", "prior", cells.numbers),
                ("Share of yes", "posterior", cells.numbers),
                ("Ratio", "ratio", cells.numbers),
                ("Distance, in slots", "distance", cells.numbers),
            ),
        )
        for key, title in (("nearest_words", "Nearest words"), ("most_distant_words", "Most distant words"))
    ),
    Sheet(
        "numbers",
        "What the inputs that make it say yes are like",
        (
            ("Number", "name", cells.texts),
            ("Mean of inputs", "prior", cells.numbers),
            ("Mean of yes", "posterior", cells.numbers),
            ("Shift, in sd", "shift", cells.numbers),
        ),
    ),
    *(
        Sheet(
            key,
            title,
            (
                ("Asked", "asked", cells.texts),
                ("Probability of yes", "yes", cells.numbers),
                ("Distance, in slots", "distance", cells.numbers),
            ),
        )
        for key, title in (
            ("nearest_inputs", "Inputs that make it say yes the most"),
            ("most_distant_inputs", "Inputs that make it say yes the least"),
        )
    ),
)
"""Tables of the lists in a component's detail."""

WEIGHTS = (
    ("inputs", "inputs that count"),
    ("effective", "effective ones (ESS)"),
    ("mean", "mean probability of yes"),
    ("tail", "shape of the weights' tail (Pareto k)"),
)
"""Titles of the numbers about the weights, by their key."""


def in_words(document: Part, part: Part) -> Iterator[str]:
    """Yield sentences: which group the inputs with a yes are about, and what was tested."""
    label, values = parts.text(part, "label") or "yes", parts.texts(part, "values")
    most = max(_shares(part, "distribution"), default=None)
    if most is not None:
        even = f"{100 / len(values):.0f} %" if values else "as many of each"
        yield (
            f"Of the inputs that get “{label}”, an estimated {100 * most[0]:.0f} % are about “{most[1]}”; "
            f"even would be {even}."
        )
    for row in parts.objects(part, "tied")[-1:]:
        favoured, side = parts.text(row, "favoured"), parts.text(row, "side")
        for share, value in _shares(row, "values"):
            if value == favoured:
                yield (
                    f"If “{value}” comes mostly with what is “{side}”, and the rest do not, an estimated "
                    f"{100 * share:.0f} % are."
                )
    yield from hidden_in_words(part, HUNDREDTHS, "With “{name}” alone, one group has {size} too many.")
    number = parts.count(parts.mapping(part, "profiles"), "asked")
    vectors = parts.mapping(document, "experiment").get("vectors") is not None
    made = "vectors of numbers about" if vectors else "sentences, each in a version for"
    named = listed([f"“{value}”" for value in values])
    yield tested(document, part, f"{number or 0:,} generated {made} {named}")


def _shares(part: Part, key: str) -> list[tuple[float, str]]:
    """Read the share of each value among the inputs that get a yes."""
    rows = [(parts.mapping(row, "posterior"), parts.text(row, "value")) for row in parts.objects(part, key)]
    return [(share, value or "?") for held, value in rows if (share := parts.number(held, "estimate")) is not None]


def room(document: Part, part: Part) -> Room | None:
    """Return how many more inputs can be asked about."""
    if parts.mapping(document, "experiment").get("vectors") is not None:
        return Room(None, "samples", "vectors")
    return profiles_room(document, part, "looks and texts.most")


def tables(part: Part) -> Iterator[Table | None]:
    """Make the tables of a component, or of the aggregation."""
    yield profiles_table(part)
    for sheet in SHEETS:
        yield sheet.of(part)
    yield _weights(part)
    yield looks_table(part)


def figures(part: Part) -> Iterator[Picture | None]:
    """Make the figures of a component."""
    yield _distribution(part)
    yield _groups(part)
    yield _projection(part)


def _weights(part: Part) -> Table:
    """Effective number of the inputs, and the tail of their weights."""
    held = parts.mapping(part, "weights")
    known = [(title, parts.number(held, key)) for key, title in WEIGHTS]
    rows = tuple((title, cells.number(value)) for title, value in known if value is not None)
    return Table("What the inputs are worth", ("Inputs", "Number"), rows)


def _distribution(part: Part) -> Picture | None:
    """The attribute's distribution among all inputs, and among the inputs that get a yes."""
    every = parts.objects(part, "distribution")
    rows = every[: charts.MOST_WORDS]
    tied = {
        str(row.get("value")): row for one in parts.objects(part, "tied")[:1] for row in parts.objects(one, "values")
    }
    marks = tuple(
        Mark(
            parts.text(row, "value") or "value",
            (
                charts.span(parts.mapping(row, "posterior")),
                charts.span(parts.mapping(tied.get(str(row.get("value")), {}), "posterior")),
            ),
        )
        for row in rows
    )
    if not any(span for mark in marks for span in mark.spans):
        return None
    title = "The attribute among the inputs that make it say yes" + some_of(rows, every)
    kinds = ("content alike", "content tied to it")
    even = parts.number(rows[0], "prior")
    twin = charts.twin(title, "Value", marks, kinds)
    return Forest(title, "share; the line is that of all inputs", marks, twin, kinds, reference=even)


def _groups(part: Part) -> Picture | None:
    """Mean distance of each group to the inputs that get a yes (P1's figure)."""
    rows = [
        (parts.text(row, "value") or "value", charts.span({"estimate": row.get("distance")}))
        for row in parts.objects(part, "group_distances")
    ]
    words = "mean number of slots that differ" if "nearest_words" in part else "mean distance, in sds"
    return charts.forest("Distance of each group to what makes it say yes", words, rows, head="Value")


def _projection(part: Part) -> Picture | None:
    """Inputs of the prior and of the posterior on two principal components."""
    held = parts.mapping(part, "projection")
    kinds = ("all inputs", "those that make a yes")
    points = [
        Point(kinds[kind], *place, kind=kind)
        for kind, key in enumerate(("prior", "posterior"))
        for place in _places(held.get(key))
    ]
    if not points:
        return None
    title = "Inputs on their two principal components"
    means = []
    for kind, name in enumerate(kinds):
        of_kind = [one for one in points if one.kind == kind]
        if of_kind:
            x, y = (sum(axis) / len(of_kind) for axis in ([p.x for p in of_kind], [p.y for p in of_kind]))
            means.append((name, str(len(of_kind)), f"{x:.3f}", f"{y:.3f}"))
    twin = Table(title, ("Inputs", "Shown", "Mean on the first", "Mean on the second"), tuple(means))
    return Scatter(title, "first component", "second", tuple(points), twin, kinds=kinds)


def _places(written: Any) -> list[tuple[float, float]]:
    listed = written if isinstance(written, list) else []
    read = [tuple(parts.finite(each) for each in one) for one in listed if isinstance(one, list) and len(one) == 2]
    return [(x, y) for x, y in read if x is not None and y is not None]
