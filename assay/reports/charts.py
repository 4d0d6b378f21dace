"""What methods tell beside the common fields, as pictures: read from the same lists as `assay.reports.sheets`.

Each function reads one picture from a component of the document, or nothing where the numbers are
absent. `assay.reports.figures.pictures` draws them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.reports import cells, parts
from assay.reports.plain import visible
from assay.reports.sheets import LISTS, farthest_terms, foremost
from assay.reports.view import ARROW, Dots, Forest, Lines, Mark, Picture, Point, Scatter, Series, Span, Strip, Table

Part = Mapping[str, Any]

MOST_MARKS = 28
"""Rows of a picture: so many fit a page, and the farthest from the middle say most."""

MOST_WORDS = 16
"""Rows of a picture with two things in each."""

CURVES = 6
"""Curves of concepts that can still be told apart; one of a control word comes with them."""

TWIN = 9
"""Places along a curve that its table shows."""

NAMED = 40
"""Single distances that a cell of a table names."""

OWN, OTHERS = "own stereotypes", "others' stereotypes"
"""What P2's connections `associated` and `different` are called in pictures."""


def read_pictures(part: Part) -> tuple[Picture, ...]:
    """Read every picture that a component's own fields make."""
    every = (
        _means(part),
        _pairs(part),
        _folds(part),
        _distribution(part),
        _groups(part),
        _projection(part),
        _curves(part),
        _points(part),
        _jnds(part),
        _shares(part),
        _connections(part),
        _by_word(part),
        _densities(part),
        _raw(part),
        _scores(part),
        _terms(part, neutral=True),
        _terms(part, neutral=False),
    )
    return tuple(one for one in every if one is not None)


# ---------------------------------------------------------------------------- alternation
def _means(part: Part) -> Picture | None:
    """Mean output under each value of the attribute, the same profiles."""
    means = parts.numbers(part.get("means")) if "pairs" in part else {}
    name = parts.text(part, "name") or "output"
    axis = "mean output, in the service's own unit" if name == "output" else f"mean score of {name}"
    rows = [(value, Span(mean)) for value, mean in means.items()]
    return _forest("Mean output under each value, same profiles", axis, rows, head="Value")


def _pairs(part: Part) -> Picture | None:
    """Paired effect of every two values, against the tolerance."""
    rows = [(_direction(row), _span(parts.mapping(row, "effect"))) for row in parts.objects(part, "pairs")]
    tolerance = parts.number(parts.mapping(part, "tolerances"), "step_1")
    axis = "shift within profiles, in standard deviations"
    return _forest("What changing the attribute changes", axis, rows, reference=0.0, tolerance=tolerance, head="Pair")


def _folds(part: Part) -> Picture | None:
    """Gaussian KL of each fold, in each direction."""
    rows = []
    for row in parts.objects(part, "divergence")[:MOST_MARKS]:
        folds = parts.objects(row, "kl_by_fold")
        values = tuple(number for fold in folds if (number := parts.number(fold, "kl_xy")) is not None)
        if values:
            rows.append(Dots(_direction(row), (values,)))
    if not rows:
        return None
    title, kind = "Gaussian KL of each fold, in each direction", "a fold"
    twin = Table(title, ("Direction", "Folds"), tuple((row.label, cells.several(row.values[0])) for row in rows))
    return Strip(title, "Gaussian KL, in nats", tuple(rows), (kind,), twin)


def _direction(row: Part) -> str:
    return ARROW.join(parts.text(row, end) or "?" for end in ("from", "to"))


# ---------------------------------------------------------------------------- stimulus sampling
def _distribution(part: Part) -> Picture | None:
    """The attribute's distribution among all inputs, and among those that make a yes."""
    rows = parts.objects(part, "distribution")[:MOST_WORDS]
    tied = {
        str(row.get("value")): row for one in parts.objects(part, "tied")[:1] for row in parts.objects(one, "values")
    }
    marks = tuple(
        Mark(
            parts.text(row, "value") or "value",
            (
                _span(parts.mapping(row, "posterior")),
                _span(parts.mapping(tied.get(str(row.get("value")), {}), "posterior")),
            ),
        )
        for row in rows
    )
    if not any(span for mark in marks for span in mark.spans):
        return None
    title = "The attribute among the inputs that make it say yes"
    kinds = ("content alike", "content tied to it")
    even = parts.number(rows[0], "prior")
    twin = _twin(title, "Value", marks, kinds)
    return Forest(title, "share; the line is that of all inputs", marks, twin, kinds, reference=even)


def _groups(part: Part) -> Picture | None:
    """Mean distance of each group to the inputs that make a yes (P1's figure)."""
    rows = [
        (parts.text(row, "value") or "value", _span({"estimate": row.get("distance")}))
        for row in parts.objects(part, "group_distances")
    ]
    words = "mean number of slots that differ" if "nearest_words" in part else "mean distance, in sds"
    return _forest("Distance of each group to what makes it say yes", words, rows, head="Value")


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


# ---------------------------------------------------------------------------- forced choice
def _curves(part: Part) -> Picture | None:
    """Psychometric curves of words between the extremes: written down, or of the fits to choices."""
    rows = _spread_out(parts.objects(part, "words"))
    levels = _list(part, "levels")
    if any("trials" in row for row in rows):
        levels = tuple(place / 50 for place in range(51))
    series = tuple(one for row in rows if (one := _curve(row, levels)) is not None)
    if len(levels) < 2 or not series:
        return None
    first, second = _sides(part)
    title = f"Psychometric curves: how often “{second}” is chosen"
    twin = _sampled(title, "Word", levels, series)
    return Lines(title, f"share of {second} in the mixture with {first}", levels, series, twin, top=1.0)


def _curve(row: Part, levels: tuple[float, ...]) -> Series | None:
    written = _list(row, "curve")
    control = row.get("role") == "control"
    label = (parts.text(row, "word") or "word") + (" (control)" if control else "")
    if written and len(written) == len(levels):
        return Series(label, written, int(control), dashed=control)
    fitted = _fitted(row, levels)
    if fitted is None:
        return None
    return Series(label, fitted, int(control), dashed=control, points=_chosen(row))


def _fitted(row: Part, levels: tuple[float, ...]) -> tuple[float, ...] | None:
    """Compute the curve whose parameters are written down (METHODS section 4)."""
    mu, lapse = (parts.number(parts.mapping(row, key), "estimate") for key in ("pse", "lapse"))
    sigma = parts.number(row, "jnd")
    if mu is None or lapse is None or sigma is None or sigma <= 0:
        return None
    rises = (0.5 * math.erfc((mu - level) / (sigma * math.sqrt(2))) for level in levels)
    return tuple(lapse / 2 + (1 - lapse) * one for one in rises)


def _chosen(row: Part) -> tuple[tuple[float, float], ...]:
    """Read the shares that were chosen at each level."""
    written = row.get("trials")
    trials = [one for one in written if isinstance(one, list) and len(one) == 3] if isinstance(written, list) else []
    known = [tuple(number for each in one if (number := parts.finite(each)) is not None) for one in trials]
    return tuple((one[0], one[1] / one[2]) for one in known if len(one) == 3 and one[2] > 0)


def _spread_out(rows: Sequence[Part]) -> list[Part]:
    """Pick words at even ranks from one side to the other, and the middle one of the controls."""
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
    rows = [(_word(row), _span(parts.mapping(row, "pse"))) for row in _farthest(every)]
    title = "Points of subjective equality" + _of(rows, every)
    first, second = _sides(part)
    return _forest(title, f"below 0.5 nearer to {second}, above to {first}", rows, reference=0.5, head="Word")


def _jnds(part: Part) -> Picture | None:
    """The just noticeable difference of each word."""
    every = parts.objects(part, "words")
    rows = [(_word(row), _span({"estimate": row.get("jnd")})) for row in _farthest(every)]
    return _forest("Just noticeable differences" + _of(rows, every), "sd, in shares of the mixture", rows, head="Word")


def _farthest(rows: Sequence[Part]) -> list[Part]:
    return [row for row in foremost(rows, MOST_MARKS) if _place(row) is not None]


def _of(shown: Sequence[Any], every: Sequence[Any]) -> str:
    return f": the {len(shown)} farthest of {len(every)} words" if len(shown) < len(every) else ""


def _word(row: Part) -> str:
    return (parts.text(row, "word") or "word") + (" (control)" if row.get("role") == "control" else "")


def _sides(part: Part) -> tuple[str, str]:
    """Name the two sides that cues stand for."""
    sides = parts.mapping(part, "sides")
    return parts.text(sides, "first") or "first cue", parts.text(sides, "second") or "second cue"


def _shares(part: Part) -> Picture | None:
    """Points of subjective equality against the shares that were declared."""
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


# ---------------------------------------------------------------------------- association
def _connections(part: Part) -> Picture | None:
    """Mean distance of each connection with its interval."""
    rows = [
        (parts.text(row, "connection") or "connection", _summary(row)) for row in parts.objects(part, "connections")
    ]
    return _forest("Mean distance by connection, with 89 % HPDIs", "cosine distance", rows, head="Connection")


def _by_word(part: Part) -> Picture | None:
    """Distances of each protected word to its own stereotypes and to others'."""
    every = parts.objects(part, "protected")
    rows = []
    for row in _evenly(every, MOST_WORDS):
        held = parts.mapping(row, "connections")
        spans = tuple(_summary(parts.mapping(held, name)) for name in ("associated", "different"))
        rows.append(Mark(parts.text(row, "word") or "word", spans))
    known = tuple(mark for mark in rows if any(mark.spans))
    if not known:
        return None
    title = "Mean distances of each protected word, with 89 % HPDIs" + _some(known, every)
    twin = _twin(title, "Word", known, (OWN, OTHERS))
    return Forest(title, "cosine distance", known, twin, (OWN, OTHERS))


def _evenly(rows: Sequence[Any], most: int) -> list[Any]:
    """Take some of many, evenly over the list, so that every group is among them."""
    return [rows[place * len(rows) // most] for place in range(most)] if len(rows) > most else list(rows)


def _some(shown: Sequence[Any], every: Sequence[Any]) -> str:
    return f" ({len(shown)} of {len(every)} words)" if len(shown) < len(every) else ""


def _summary(held: Part) -> Span | None:
    return _span({**parts.mapping(held, "hpdi_89"), "estimate": held.get("mean")})


def _densities(part: Part) -> Picture | None:
    """Observed and predicted densities of the distances."""
    predictive = parts.mapping(part, "predictive")
    grid = _list(predictive, "grid")
    series: list[Series] = []
    for row in parts.objects(predictive, "connections"):
        kind = {"associated": 0, "different": 1}.get(parts.text(row, "connection") or "")
        for name in ("observed", "predicted") if kind is not None else ():
            y = _list(row, name)
            if len(y) == len(grid):
                series.append(Series(f"{(OWN, OTHERS)[kind or 0]}, {name}", y, kind or 0, dashed=name == "predicted"))
    if len(grid) < 2 or not series:
        return None
    title = "Densities of the distances: observed, and predicted (dashed)"
    return Lines(title, "cosine distance", grid, tuple(series), _sampled(title, "Density at", grid, series))


def _raw(part: Part) -> Picture | None:
    """Single distances of each protected word."""
    rows, cells_of = [], []
    every = list(parts.mapping(part, "raw").items())
    for word, by_connection in _evenly(every, MOST_WORDS):
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
    """Name words from the nearest to the farthest."""
    ordered = sorted(held.items(), key=lambda one: one[1])
    more = f" and {len(ordered) - NAMED} more" if len(ordered) > NAMED else ""
    return ", ".join(f"{word} {value:.2f}" for word, value in ordered[:NAMED]) + more or cells.ABSENT


# ---------------------------------------------------------------------------- language models
def _scores(part: Part) -> Picture | None:
    """Score of each list of attribute terms against 1/2 and the tolerance."""
    of_pictures = "images_asked" in part
    held = parts.mapping(part, "lists") if "pairs_asked" in part or of_pictures else {}
    first, second = _sides(part)
    titles = {"neutral": f"neutral: {'gives' if of_pictures else 'prefers'} {first}"}
    titles |= {"first_terms": f"{first}: stereotype", "second_terms": f"{second}: stereotype"}
    rows = [(titles[key], _span(parts.mapping(parts.mapping(held, key), "posterior"))) for key in LISTS if key in held]
    tolerance = parts.number(parts.mapping(part, "tolerances"), "step_1")
    what = "share of pictures" if of_pictures else "share of pairs"
    axis = f"{'mean probability' if part.get('scale') == 'probabilities' else what}; 0.5 prefers neither"
    head = "Terms" if of_pictures else "Attributes"
    title = f"Scores by list of {head.lower()}"
    return _forest(title, axis, rows, reference=0.5, tolerance=tolerance, head=head)


def _terms(part: Part, *, neutral: bool) -> Picture | None:
    """The attribute terms whose scores lie farthest from 1/2."""
    every = [row for row in farthest_terms(part) if (row.get("list") == "neutral") is neutral]
    shown = every[:MOST_MARKS]
    rows = [(parts.text(row, "term") or "term", _span(parts.mapping(row, "posterior"))) for row in shown]
    first, _ = _sides(part)
    if "images_asked" in part:
        what = f"neutral: score of {first}" if neutral else "score of the stereotyped label"
        title = "Neutral generation terms" if neutral else "Generation terms of the stereotype"
    else:
        what = f"neutral: share that prefers {first}" if neutral else "share that prefers the stereotype"
        title = "Neutral attribute terms" if neutral else "Attribute terms of the stereotype"
    title += _some_terms(shown, every)
    return _forest(title, what, rows, reference=0.5, head="Term")


def _some_terms(shown: Sequence[Any], every: Sequence[Any]) -> str:
    return f": the {len(shown)} farthest of {len(every)}" if len(shown) < len(every) else ""


# ---------------------------------------------------------------------------- all
def _span(held: Part) -> Span | None:
    estimate = parts.number(held, "estimate")
    return None if estimate is None else Span(estimate, parts.number(held, "low"), parts.number(held, "high"))


def _forest(
    title: str,
    axis: str,
    rows: Sequence[tuple[str, Span | None]],
    *,
    reference: float | None = None,
    tolerance: float | None = None,
    head: str = "",
) -> Forest | None:
    """Put numbers one above the other; ``None`` where there are none."""
    marks = tuple(Mark(visible(name), (span,)) for name, span in rows if span is not None)[:MOST_MARKS]
    if not marks:
        return None
    return Forest(title, axis, marks, _twin(title, head, marks, ()), (), reference, tolerance)


def _twin(title: str, head: str, marks: Sequence[Mark], kinds: tuple[str, ...]) -> Table:
    """Write a forest's numbers as a table."""
    written = []
    for place in range(max(1, len(kinds))):
        spans = [mark.spans[place] for mark in marks]
        held = [{} if span is None else {"span": _ends(span)} for span in spans]
        written.append(cells.intervals(held, "span"))
    rows = tuple((mark.label, *(column[at] for column in written)) for at, mark in enumerate(marks))
    return Table(title, (head, *(kinds or ("Estimate",))), rows)


def _ends(span: Span) -> Part:
    return {"estimate": span.estimate, "low": span.low, "high": span.high}


def _sampled(title: str, head: str, x: tuple[float, ...], series: Sequence[Series]) -> Table:
    """Write curves down at a few places."""
    kept = sorted({round(place * (len(x) - 1) / (TWIN - 1)) for place in range(TWIN)})
    rows = tuple((one.label, *(f"{one.y[place]:.2f}" for place in kept)) for one in series)
    return Table(title, (head, *(f"{x[place]:.2f}" for place in kept)), rows)


def _list(part: Part, key: str) -> tuple[float, ...]:
    value = part.get(key)
    listed = value if isinstance(value, list | tuple) else ()
    return tuple(number for one in listed if (number := parts.finite(one)) is not None)
