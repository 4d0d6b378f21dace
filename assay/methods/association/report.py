"""Tables and figures of association in a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.experiment import Room
from assay.explain import listed
from assay.methods.shared.report import coverage_table, title_of_words
from assay.reports import cells, charts, parts
from assay.reports.in_words import Unit, amount, effect, hidden_in_words, tested
from assay.reports.parts import Part
from assay.reports.plain import visible
from assay.reports.sheets import MOST_ROWS, Sheet, some_of
from assay.reports.view import Dots, Forest, Lines, Mark, Picture, Series, Span, Strip, Table

NAMED = 40
"""Maximum number of distances in a cell of a table."""

OWN, OTHERS = "own stereotypes", "others' stereotypes"
"""Names of P2's connections `associated` and `different` in figures."""

CONNECTIONS = Sheet(
    "connections",
    "Mean distances by connection",
    (
        ("Connection", "connection", cells.texts),
        ("Mean", "mean", cells.numbers),
        ("89 % HPDI", "hpdi_89", cells.intervals),
        ("5.5 to 94.5 %", "equal_tailed_89", cells.intervals),
        ("Residual sd", "sigma", cells.numbers),
    ),
)

MEASURES: tuple[str, ...] = ("rnd", "ect", "ripa", "rnsb", "direct_bias")
"""Keys of the measures beside WEAT; each has one `value`, or a ``why``."""

CLASSICAL = Sheet(
    "weat",
    "Measures that came before, two groups at a time",
    (
        ("Groups", "groups", cells.texts),
        ("WEAT effect size", "weat", cells.numbers),
        ("WEAT p", "p", cells.p_values),
        ("RND", "rnd", cells.numbers),
        ("ECT", "ect", cells.numbers),
        ("RIPA", "ripa", cells.numbers),
        ("RNSB", "rnsb", cells.numbers),
        ("DirectBias of controls", "direct_bias", cells.numbers),
    ),
)
"""Measures of one number, without uncertainty or with the p-value of one test (METHODS section 6)."""


def counted(part: Part) -> str:  # noqa: ARG001
    """Return the plural noun for what a component counts."""
    return "Words"


def in_words(document: Part, part: Part) -> Iterator[str]:
    """Yield sentences: by how much distances differ, and what was tested."""
    means = {parts.text(row, "connection"): parts.number(row, "mean") for row in parts.objects(part, "connections")}
    own, others = means.get("associated"), means.get("different")
    if own is not None and others is not None:
        yield (
            f"Words for a group are on average an estimated {own:.2f} away from the stereotypes of that group and "
            f"{others:.2f} from those of other groups, where 0 is the same and 1 has nothing in common."
        )
    if (controls := effect(part, "step_1")) is not None:
        yield f"Distances to neutral and human words differ between groups by an estimated {amount(controls)} at most."
    differ = "To {name} they differ by {size}."
    alike = {"words of all stereotypes": "To {name} they differ in the same direction by {size}."}
    yield from hidden_in_words(part, Unit(amount), differ, content=differ, strata=alike)
    named = {parts.text(row, "group"): parts.text(row, "word") for row in parts.objects(part, "protected")}
    groups = listed([f"{group} (such as “{word}”)" for group, word in named.items()])
    yield tested(
        document,
        part,
        f"words of the list “{title_of_words(parts.text(part, 'name') or '')}” about {groups or 'groups'}",
    )


def room(document: Part, part: Part) -> Room | None:  # noqa: ARG001
    """Return 0 as the number of further questions: the vector of a word is always the same."""
    return Room(0, "", "words")


def tables(part: Part) -> Iterator[Table | None]:
    """Make the tables of a component."""
    yield CONNECTIONS.of(part)
    yield _protected(part)
    yield _classical(part)
    yield Table("Also measured", ("Measure", "Value"), tuple(_of_distances(part)))
    yield coverage_table(part)


def figures(part: Part) -> Iterator[Picture | None]:
    """Make the figures of a component."""
    yield _connections(part)
    yield _by_word(part)
    yield _densities(part)
    yield _raw(part)


# ---------------------------------------------------------------------------- tables
def _protected(part: Part) -> Table:
    """Distances of each protected word by connection."""
    every = parts.objects(part, "protected")
    rows = every[:MOST_ROWS]
    names = list(dict.fromkeys(name for row in rows for name in parts.mapping(row, "connections")))
    columns = [_cells_of([parts.mapping(parts.mapping(row, "connections"), name) for row in rows]) for name in names]
    words = [(parts.text(row, "word") or cells.ABSENT, parts.text(row, "group") or cells.ABSENT) for row in rows]
    written = tuple((*word, *(column[place] for column in columns)) for place, word in enumerate(words))
    title = "Mean distances of each protected word, with 89 % HPDIs" + some_of(rows, every)
    return Table(title, ("Word", "Group", *map(visible, names)), written)


def _cells_of(held: Sequence[Part]) -> tuple[str, ...]:
    ends = (parts.mapping(one, "hpdi_89") for one in held)
    spans = [{"span": {**limits, "estimate": one.get("mean")}} for one, limits in zip(held, ends, strict=True)]
    return cells.intervals(spans, "span")


def _of_distances(part: Part) -> Iterator[tuple[str, str]]:
    mac = parts.number(parts.mapping(parts.mapping(part, "classical"), "mac"), "value")
    if mac is not None:
        yield "Mean average cosine distance (MAC)", f"{mac:.3f}"
    predictive = parts.mapping(part, "predictive")
    for key, mass in (("share_50", "50 %"), ("share_89", "89 %")):
        share = parts.number(predictive, key)
        if share is not None:
            yield f"Distances within their {mass} predictive interval", f"{share * 100:.0f} %"


def _classical(part: Part) -> Table | None:
    """Values of the classical association measures (older than paper P2) for every two groups."""
    return CLASSICAL.read([_of_groups(row) for row in parts.objects(parts.mapping(part, "classical"), "weat")])


def _of_groups(row: Part) -> Part:
    beside = parts.mapping(row, "beside")
    told = {key: parts.mapping(beside, key) for key in MEASURES}
    return {
        "groups": " and ".join(parts.texts(row, "targets")),
        "weat": row.get("effect_size_ddof1", {"why": row.get("why")}),
        "p": row.get("p_one_sided"),
        **{key: one.get("value", {"why": one.get("why")}) for key, one in told.items()},
    }


# ---------------------------------------------------------------------------- figures
def _connections(part: Part) -> Picture | None:
    """Mean distance of each connection with its interval."""
    rows = [
        (parts.text(row, "connection") or "connection", _summary(row)) for row in parts.objects(part, "connections")
    ]
    return charts.forest("Mean distance by connection, with 89 % HPDIs", "cosine distance", rows, head="Connection")


def _by_word(part: Part) -> Picture | None:
    """Distances of each protected word to the stereotypes of its group and of other groups."""
    every = parts.objects(part, "protected")
    rows = []
    for row in charts.evenly(every, charts.MOST_WORDS):
        held = parts.mapping(row, "connections")
        spans = tuple(_summary(parts.mapping(held, name)) for name in ("associated", "different"))
        rows.append(Mark(parts.text(row, "word") or "word", spans))
    known = tuple(mark for mark in rows if any(mark.spans))
    if not known:
        return None
    title = "Mean distances of each protected word, with 89 % HPDIs" + _some(known, every)
    twin = charts.twin(title, "Word", known, (OWN, OTHERS))
    return Forest(title, "cosine distance", known, twin, (OWN, OTHERS))


def _some(shown: Sequence[Any], every: Sequence[Any]) -> str:
    return f" ({len(shown)} of {len(every)} words)" if len(shown) < len(every) else ""


def _summary(held: Part) -> Span | None:
    return charts.span({**parts.mapping(held, "hpdi_89"), "estimate": held.get("mean")})


def _densities(part: Part) -> Picture | None:
    """Observed and predicted densities of the distances."""
    predictive = parts.mapping(part, "predictive")
    grid = charts.numbers_in(predictive, "grid")
    series: list[Series] = []
    for row in parts.objects(predictive, "connections"):
        kind = {"associated": 0, "different": 1}.get(parts.text(row, "connection") or "")
        for name in ("observed", "predicted") if kind is not None else ():
            y = charts.numbers_in(row, name)
            if len(y) == len(grid):
                series.append(Series(f"{(OWN, OTHERS)[kind or 0]}, {name}", y, kind or 0, dashed=name == "predicted"))
    if len(grid) < 2 or not series:
        return None
    title = "Densities of the distances: observed, and predicted (dashed)"
    return Lines(title, "cosine distance", grid, tuple(series), charts.sampled(title, "Density at", grid, series))


def _raw(part: Part) -> Picture | None:
    """All single distances of each protected word."""
    rows, cells_of = [], []
    every = list(parts.mapping(part, "raw").items())
    for word, by_connection in charts.evenly(every, charts.MOST_WORDS):
        held = by_connection if isinstance(by_connection, Mapping) else {}
        own, others = (parts.numbers(held.get(name)) for name in ("associated", "different"))
        if own or others:
            rows.append(Dots(visible(word), (tuple(own.values()), tuple(others.values()))))
            cells_of.append((visible(word), _distances(own), _distances(others)))
    if not rows:
        return None
    title = "Single distances of each protected word" + _some(rows, every)
    kinds = (OWN, OTHERS)
    return Strip(title, "cosine distance", tuple(rows), kinds, Table(title, ("Word", *kinds), tuple(cells_of)))


def _distances(held: Mapping[str, float]) -> str:
    """List words from the nearest to the farthest."""
    ordered = sorted(held.items(), key=lambda one: one[1])
    more = f" and {len(ordered) - NAMED} more" if len(ordered) > NAMED else ""
    return ", ".join(f"{word} {value:.2f}" for word, value in ordered[:NAMED]) + more or cells.ABSENT
