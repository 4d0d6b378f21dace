"""Tables and figures of alternation in a report."""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.experiment import Room
from assay.explain import listed
from assay.methods.shared.report import looks_table, profiles_room, profiles_table
from assay.reports import cells, charts, parts
from assay.reports.in_words import Unit, amount, effect, hidden_in_words, hundredths, tested
from assay.reports.parts import Part
from assay.reports.plain import visible
from assay.reports.sheets import Sheet, some_of
from assay.reports.view import ARROW, Dots, Picture, Span, Strip, Table

SHEETS = (
    Sheet(
        "pairs",
        "What changing the attribute changes",
        (
            ("From", "from", cells.texts),
            ("To", "to", cells.texts),
            ("Mean shift", "shift", cells.numbers),
            ("In standard deviations", "effect", cells.intervals),
            ("d_z", "d_z", cells.numbers),
            ("Profiles changed", "changed", cells.numbers),
        ),
    ),
    Sheet(
        "groups",
        "Groups as they came",
        (
            ("Value", "value", cells.texts),
            ("Records", "records", cells.numbers),
            ("Mean output", "mean", cells.numbers),
            ("Fewer than 30", "small", cells.texts),
        ),
    ),
    Sheet(
        "labels",
        "Labels under one value and under the other",
        (
            ("From", "from", cells.texts),
            ("To", "to", cells.texts),
            ("Profiles changed", "changed", cells.numbers),
            ("Bowker p", "bowker_p", cells.p_values),
            ("Jensen-Shannon", "jensen_shannon", cells.numbers),
        ),
    ),
    Sheet(
        "divergence",
        "How the distributions of outputs differ",
        (
            ("From", "from", cells.texts),
            ("To", "to", cells.texts),
            ("Gaussian KL, 95 % interval", "kl_interval", cells.intervals),
            ("k-NN KL", "knn_kl", cells.numbers),
            ("Wasserstein", "wasserstein", cells.numbers),
            ("Energy", "energy", cells.numbers),
            ("Sign-flip p", "sign_flip_p", cells.p_values),
        ),
    ),
)
"""Tables of the lists in a component's detail."""

RATIOS = Sheet(
    "ratios",
    "Disparate impact: base rate of one group over another's",
    (
        ("Of", "of", cells.texts),
        ("To", "to", cells.texts),
        ("Ratio", "ratio", cells.intervals),
        ("Why there is none", "why", cells.texts),
    ),
)


STRATUM = "Within “{name}” alone, answers move by {size}."
INDIVIDUAL = "Swapping nothing but the attribute moves a typical answer, up or down, by {size}."
FLIPS = "Swapping nothing but the attribute changes the label of {size}."


def in_words(document: Part, part: Part) -> Iterator[str]:
    """Yield sentences: by how much answers differ, in the service's own unit, and what was tested."""
    experiment = parts.mapping(document, "experiment")
    records, labels = experiment.get("records") is not None, parts.text(experiment, "answers") == "labels"
    scales = [parts.text(one, "scale") for one in parts.objects(part, "scales")] or [parts.text(experiment, "scale")]
    deviation = parts.number(part, "scale") or 1.0
    unit = _unit(scales[0] or "linear", deviation, labels)
    pairs = parts.objects(part, "pairs")
    largest = max(pairs, key=lambda one: abs(parts.number(one, "shift") or 0.0), default={})
    shift, before, after = parts.number(largest, "shift"), parts.text(largest, "from"), parts.text(largest, "to")
    if shift is not None and before and after:
        if shift < 0:  # from the smaller to the larger value, so that a ratio above 1 is written
            shift, before, after = -shift, after, before
        answer = f"the score of “{parts.text(part, 'name')}”" if labels else "the answer"
        moved = f"{unit.of(shift / deviation)} higher" if shift else "the same"
        yield f"With “{after}” instead of “{before}” and nothing else changed, {answer} is {moved} on average."
    if scales[0] != "log":
        yield f"For comparison: answers to different inputs typically lie {unit.of(1.0)} from their average."
    if (gap := effect(part, "step_2")) is not None:
        where = (
            "As the records stand"
            if records
            else "Where one group comes mostly with one kind of content, and another with another kind"
        )
        yield f"{where}, the groups' averages differ by {unit.of(abs(gap))}."
    flips = Unit(lambda size: hundredths((size * deviation) ** 2), " of 100 inputs")
    limits = [parts.number(one, "limit") for one in parts.objects(part, "hidden") if one.get("kind") == "individual"]
    # labels without scores have another limit: the root of the share of labels that may change
    bare = labels and limits != [parts.number(experiment, "delta_individual")]
    yield from hidden_in_words(part, unit, STRATUM, *((FLIPS, flips) if bare else (INDIVIDUAL, unit)))
    if left := parts.texts(part, "not_within"):
        named = listed([f"“{column}”" for column in left])
        yield f"Not looked into one by one: {named}. What happens within a column is judged if “strata” names it."
    values = listed([f"“{value}”" for value in parts.texts(part, "values")])
    number = parts.count(parts.mapping(part, "profiles"), "asked")
    yield tested(document, part, f"{number or 0:,} {'records' if records else 'sentences'}, each with {values}")


def _unit(scale: str, deviation: float, labels: bool) -> Unit:
    """Return the unit in which effects are written; `deviation` is the standard deviation of the output on `scale`."""
    if scale == "log":
        return Unit(lambda size: amount(100 * math.expm1(size * deviation)), " %")
    if scale == "linear" and labels:
        return Unit(lambda size: amount(100 * size * deviation), " points of 100")
    names = {"logit": " on the logit scale", "rank": " places in the order of all answers"}
    return Unit(lambda size: amount(size * deviation), names.get(scale, ""))


def room(document: Part, part: Part) -> Room | None:
    """Return how many more profiles can be asked about."""
    return profiles_room(document, part, "texts.most")


def tables(part: Part) -> Iterator[Table | None]:
    """Make the tables of a component, or of the aggregation."""
    yield profiles_table(part)
    for sheet in SHEETS:
        yield sheet.of(part)
    yield RATIOS.of(parts.mapping(part, "disparate_impact"))
    yield _leverage(part)
    yield looks_table(part)


def figures(part: Part) -> Iterator[Picture | None]:
    """Make the figures of a component."""
    yield _means(part)
    yield _pairs(part)
    yield _folds(part)


def _leverage(part: Part) -> Table:
    """Table of the largest effect, computed again without each cluster."""
    held = parts.mapping(part, "leverage")
    of = [(kind, row) for kind in held for row in parts.objects(held, kind)]
    effects = cells.numbers([row for _, row in of] + [held], "effect")
    rows = tuple(
        (parts.text(row, "without") or cells.ABSENT, visible(kind), effect)
        for (kind, row), effect in zip(of, effects[:-1], strict=True)
    )
    pair = parts.texts(held, "pair")
    between = f" from {pair[0]} to {pair[1]}" if len(pair) == 2 else ""
    title = f"The effect{between} without one person, frame or content; it is {effects[-1]} with all"
    return Table(title, ("Without", "Kind", "Effect"), rows)


def _means(part: Part) -> Picture | None:
    """Mean output of the same profiles under each value of the attribute."""
    means = parts.numbers(part.get("means")) if "pairs" in part else {}
    name = parts.text(part, "name") or "output"
    axis = "mean output, in the service's own unit" if name == "output" else f"mean score of {name}"
    rows = [(value, Span(mean)) for value, mean in means.items()]
    return charts.forest("Mean output under each value, same profiles", axis, rows, head="Value")


def _pairs(part: Part) -> Picture | None:
    """Paired effect of every two values, with the tolerance."""
    rows = [(_direction(row), charts.span(parts.mapping(row, "effect"))) for row in parts.objects(part, "pairs")]
    tolerance = parts.number(parts.mapping(part, "tolerances"), "step_1")
    axis = "shift within profiles, in standard deviations"
    return charts.forest(
        "What changing the attribute changes", axis, rows, reference=0.0, tolerance=tolerance, head="Pair"
    )


def _folds(part: Part) -> Picture | None:
    """Gaussian KL divergence of each fold of the data, in both directions."""
    rows = []
    every = parts.objects(part, "divergence")
    shown = every[: charts.MOST_MARKS]
    for row in shown:
        folds = parts.objects(row, "kl_by_fold")
        values = tuple(number for fold in folds if (number := parts.number(fold, "kl_xy")) is not None)
        if values:
            rows.append(Dots(_direction(row), (values,)))
    if not rows:
        return None
    title, kind = "Gaussian KL of each fold, in each direction" + some_of(shown, every), "a fold"
    twin = Table(title, ("Direction", "Folds"), tuple((row.label, cells.several(row.values[0])) for row in rows))
    return Strip(title, "Gaussian KL, in nats", tuple(rows), (kind,), twin)


def _direction(row: Part) -> str:
    return ARROW.join(parts.text(row, end) or "?" for end in ("from", "to"))
