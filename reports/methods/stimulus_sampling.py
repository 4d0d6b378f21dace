"""Tables, figures and sentences of a rating by stimulus sampling in a report."""

from collections.abc import Iterator, Sequence

from assay.document import NO_EFFECT, RatingDocument
from assay.explain import listed
from assay.explain import share as percent
from assay.methods.stimulus_sampling.detail import SamplingComponent, ValueDocument
from assay.methods.stimulus_sampling.method import StimulusSampling
from reports import cells, charts
from reports.cases import ProfileCases
from reports.in_words import hidden_in_words, tested
from reports.method_report import MethodReport, Room, in_order
from reports.methods.material import looks_table, profiles_room, profiles_table
from reports.sheets import Wording, shown_suffix
from reports.units import HUNDREDTHS, of_hundred
from reports.view import Forest, Mark, Picture, Point, Scatter, Span, Table

WORDING = Wording.read("stimulus-sampling")


def in_words(document: RatingDocument, part: SamplingComponent) -> Iterator[str]:
    """Yield sentences on the group that most positively classified inputs are about, and on the tested material."""
    label, values = part.label or "yes", part.values
    if share_value_pairs := _share_value_pairs(part.distribution):
        largest_share, value = max(share_value_pairs)
        even_share = f"{100 / len(values):.0f} %" if values else "as many of each"
        yield (
            f"Of the inputs that get “{label}”, an estimated {percent(largest_share)} are about “{value}”; "
            f"even would be {even_share}."
        )
    for tied_mix in part.tied[-1:]:  # example: the last mix that ties content to a group
        for share, value in _share_value_pairs(tied_mix.values):
            if value == tied_mix.favoured:
                yield (
                    f"In a mix in which mostly “{value}” comes with “{tied_mix.side}” content, an estimated "
                    f"{percent(share)} of the inputs that get “{label}” are about “{value}”."
                )
    stratum_template = "With “{name}” alone, the shares of the groups differ from even by {size}."
    yield from hidden_in_words(part, HUNDREDTHS, stratum_template)
    vectors = document.experiment.get("vectors") is not None
    input_kind = "vectors of numbers about" if vectors else "sentences, each in a version for"
    value_names = listed([f"“{value}”" for value in values])
    yield tested(document, part, f"{part.profiles.asked or 0:,} generated {input_kind} {value_names}")


def _share_value_pairs(rows: Sequence[ValueDocument]) -> list[tuple[float, str]]:
    """Return (share, value) pairs: the share of each value among the inputs of the positive class."""
    return [(row.posterior.estimate, row.value or "?") for row in rows if row.posterior.estimate is not None]


def room(document: RatingDocument, part: SamplingComponent) -> Room | None:
    """Return how many more sentences can be asked, or that any number of vectors can be drawn; ``None`` if unknown."""
    if document.experiment.get("vectors") is not None:
        return Room(remaining=None, field="samples", material="vectors")
    return profiles_room(document, part, "looks and texts.most")


def _weights_table(part: SamplingComponent) -> Table:
    weights = part.weights
    statistics = (
        ("inputs that count", weights.inputs),
        ("effective ones (ESS)", weights.effective),
        ("mean probability of the positive class", weights.mean),
        ("shape of the weights' tail (Pareto k)", weights.tail),
    )
    rows = tuple((title, cells.number(value)) for title, value in statistics if value is not None)
    return Table("What the inputs are worth", ("Inputs", "Number"), rows)


def _distribution_figure(part: SamplingComponent) -> Picture | None:
    """Return a figure of each value's share of the positive class, with content alike and with content tied to it."""
    rows = part.distribution[: charts.MOST_WORDS]
    # of the mixes in which content is tied to the attribute, only the first is drawn
    tied_shares = {row.value: row.posterior for tied_mix in part.tied[:1] for row in tied_mix.values}
    marks = tuple(
        Mark(row.value or "value", (charts.span(row.posterior), charts.span(tied_shares.get(row.value, NO_EFFECT))))
        for row in rows
    )
    if not any(span for mark in marks for span in mark.spans):
        return None
    title = "The attribute in the positive class" + shown_suffix(rows, part.distribution)
    kinds = ("content alike", "content tied to it")
    table = charts.forest_table(title, "Value", marks, kinds)
    return Forest(title, "share; the line is that of all inputs", marks, table, kinds, reference=rows[0].prior)


def _groups_figure(part: SamplingComponent) -> Picture | None:
    rows = [
        (row.value or "value", None if row.distance is None else Span(row.distance)) for row in part.group_distances
    ]
    axis = "mean number of slots that differ" if part.nearest_words else "mean distance, in sds"
    return charts.forest("Distance of each group to the positive class", axis, rows, head="Value")


def _projection_figure(part: SamplingComponent) -> Picture | None:
    kinds = ("all inputs", "positive class")
    points = [
        Point(kinds[kind_index], x, y, kind_index)
        for kind_index, positions in enumerate((part.projection.prior, part.projection.posterior))
        for x, y in positions
    ]
    if not points:
        return None
    title = "Inputs on their two principal components"
    mean_rows = []
    for kind_index, name in enumerate(kinds):
        group = [point for point in points if point.kind_index == kind_index]
        if group:
            mean_x, mean_y = sum(p.x for p in group) / len(group), sum(p.y for p in group) / len(group)
            mean_rows.append((name, str(len(group)), f"{mean_x:.3f}", f"{mean_y:.3f}"))
    table = Table(title, ("Inputs", "Shown", "Mean on the first", "Mean on the second"), tuple(mean_rows))
    return Scatter(title, "first component", "second component", tuple(points), table, kinds=kinds)


REPORT = MethodReport(
    StimulusSampling,
    WORDING.steps,
    WORDING.letters,
    in_words,
    in_order(profiles_table, *(sheet.of for sheet in WORDING.sheets.values()), _weights_table, looks_table),
    in_order(_distribution_figure, _groups_figure, _projection_figure),
    room,
    unit=of_hundred,
    ratable="texts",
    cases=ProfileCases,
)
