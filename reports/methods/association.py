"""Tables, figures and sentences of a rating by association in a report."""

from collections.abc import Iterator
from types import SimpleNamespace

from assay.document import Absent, RatingDocument, Shares
from assay.explain import listed
from assay.methods.association.detail import AssociationComponent, ConnectionDocument, MeasureDocument, WeatDocument
from assay.methods.association.method import Association
from assay.rating.document import DecidingEffect
from reports import cells, charts
from reports.cases import WordCases
from reports.in_words import hidden_in_words, tested
from reports.method_report import MethodReport, Room, in_order
from reports.methods.material import coverage_table, title_of_words
from reports.plain import visible
from reports.sheets import MOST_ROWS, Wording, evenly, shown_suffix
from reports.units import Unit, amount
from reports.view import Curve, Dots, Forest, Lines, Mark, Picture, Strip, Table

WORDING = Wording.read("association")

NAMED = 40
"""Maximum number of words with their distances in a table cell."""

SOME_WORDS = " ({} of {} words)"
"""Suffix of the title of a figure that does not show all words."""

OWN, OTHERS = "own stereotypes", "others' stereotypes"
"""Names of Dobrzeniecka & Urbaniak's connections `associated` and `different` in figures."""

MEASURES: tuple[str, ...] = ("rnd", "ect", "ripa", "rnsb", "direct_bias")
"""Keys of the measures beside WEAT; each has one `value`, or a ``why``."""


def in_words(document: RatingDocument, part: AssociationComponent) -> Iterator[str]:
    """Yield sentences on how much the distances between words differ, and on the tested material."""
    means = {row.connection: row.mean for row in part.connections}
    own_mean, other_mean = means.get("associated"), means.get("different")
    if own_mean is not None and other_mean is not None:
        yield (
            f"Words for a group are on average an estimated {own_mean:.2f} away from the stereotypes of that group "
            f"and {other_mean:.2f} from those of other groups, where 0 is the same, 1 is unrelated and 2 is opposite."
        )
    yield from _controls_in_words(part)
    template = "Distances to {name} differ between groups by {size}."
    same_direction_template = "Distances to {name} differ between groups in the same direction by {size}."
    own_templates = {"words of all stereotypes": same_direction_template}
    yield from hidden_in_words(part, Unit(amount), template, content_template=template, own_templates=own_templates)
    word_by_group = {row.group: row.word for row in part.protected}
    groups = listed([f"{group} (such as “{word}”)" for group, word in word_by_group.items()])
    yield tested(document, part, f"words of the list “{title_of_words(part.name or '')}” about {groups or 'groups'}")


def tables(part: AssociationComponent) -> Iterator[Table | None]:
    """Yield the tables of a component."""
    yield WORDING.sheets["connections"].of(part)
    yield _protected_table(part)
    yield WORDING.sheets["weat"].of_rows([*map(_classical_measures, part.classical.weat)])
    yield Table("Also measured", ("Measure", "Value"), tuple(_distance_measures(part)))
    yield coverage_table(part)


def _protected_table(part: AssociationComponent) -> Table:
    rows = part.protected[:MOST_ROWS]
    connection_names = list(dict.fromkeys(name for row in rows for name in row.connections))  # "associated" …
    columns = {"Word": cells.texts([row.word for row in rows]), "Group": cells.texts([row.group for row in rows])}
    columns |= {
        name: cells.intervals([row.connections[name].interval if name in row.connections else None for row in rows])
        for name in connection_names
    }
    title = "Mean distances of each protected word, with 89 % HPDIs" + shown_suffix(rows, part.protected)
    return Table.of_columns(title, columns)


def _distance_measures(part: AssociationComponent) -> Iterator[tuple[str, str]]:
    mac, predictive = part.classical.mac.value, part.predictive
    if mac is not None:
        yield "Mean average cosine distance (MAC)", f"{mac:.3f}"
    for share, mass in ((predictive.share_50, "50 %"), (predictive.share_89, "89 %")):
        if share is not None:
            yield f"Distances within their {mass} predictive interval", f"{share * 100:.0f} %"


def _classical_measures(row: WeatDocument) -> SimpleNamespace:
    """Return a row for the table of WEAT comparisons; a missing measure is an `Absent` object with the reason."""
    measures = {"weat": MeasureDocument(row.effect_size_ddof1, why=row.why)}
    measures |= {name: row.beside.get(name, MeasureDocument()) for name in MEASURES}  # measures beside WEAT
    values = {
        name: Absent(measure.why) if measure.value is None else measure.value for name, measure in measures.items()
    }
    return SimpleNamespace(groups=" and ".join(row.targets), p=row.p_one_sided, **values)


def _connections_figure(part: AssociationComponent) -> Picture | None:
    rows = [(row.connection or "connection", charts.span(row.interval)) for row in part.connections]
    return charts.forest("Mean distance by connection, with 89 % HPDIs", "cosine distance", rows, head="Connection")


def _words_figure(part: AssociationComponent) -> Picture | None:
    unknown = ConnectionDocument()
    all_marks = [
        Mark(
            row.word or "word",
            tuple(charts.span(row.connections.get(name, unknown).interval) for name in ("associated", "different")),
        )
        for row in evenly(part.protected, charts.MOST_WORDS)
    ]
    marks = tuple(mark for mark in all_marks if any(mark.spans))
    if not marks:
        return None
    title = "Mean distances of each protected word, with 89 % HPDIs" + shown_suffix(marks, part.protected, SOME_WORDS)
    table = charts.forest_table(title, "Word", marks, (OWN, OTHERS))
    return Forest(title, "cosine distance", marks, table, (OWN, OTHERS))


def _densities_figure(part: AssociationComponent) -> Picture | None:
    """Return a figure of how often distances to own and to other stereotypes are observed, and were predicted."""
    grid, index_of_connection = part.predictive.grid, {"associated": 0, "different": 1}
    curves: list[Curve] = []
    for row in part.predictive.connections:
        if (kind_index := index_of_connection.get(row.connection or "")) is None:
            continue
        for name, densities in (("observed", row.observed), ("predicted", row.predicted)):
            if len(densities) == len(grid):
                label = f"{(OWN, OTHERS)[kind_index]}, {name}"
                curves.append(Curve(label, grid, densities, kind_index, dashed=name == "predicted"))
    if len(grid) < 2 or not curves:
        return None
    title = "Densities of the distances: observed, and predicted (dashed)"
    table = charts.curve_table(title, "Density at", curves)
    return Lines(title, "cosine distance", tuple(curves), table, "density")


def _distances_figure(part: AssociationComponent) -> Picture | None:
    rows, table_rows = [], []
    for word, by_connection in evenly(list(part.raw.items()), charts.MOST_WORDS):  # distances to other words
        own_distances, other_distances = by_connection.get("associated", {}), by_connection.get("different", {})
        if own_distances or other_distances:
            rows.append(Dots(word, (tuple(own_distances.values()), tuple(other_distances.values()))))
            table_rows.append((word, _nearest_words(own_distances), _nearest_words(other_distances)))
    if not rows:
        return None
    title = "Single distances of each protected word" + shown_suffix(rows, list(part.raw), SOME_WORDS)
    kinds = (OWN, OTHERS)
    return Strip(title, "cosine distance", tuple(rows), kinds, Table(title, ("Word", *kinds), tuple(table_rows)))


def _nearest_words(distances: Shares) -> str:
    nearest_first = sorted(distances.items(), key=lambda entry: entry[1])
    remainder = f" and {len(nearest_first) - NAMED} more" if len(nearest_first) > NAMED else ""
    texts = [f"{word} {distance:.2f}" for word, distance in nearest_first[:NAMED]]
    return ", ".join(texts) + remainder if texts else cells.ABSENT


ALL_ASKED = Room(0, "", "words")
"""Room for 0 further questions, because the vector of a word is always the same; more words can be added."""


def _controls_in_words(part: AssociationComponent) -> Iterator[str]:
    if (controls := part.effect("step_1")) is not None:
        yield f"Distances to neutral and human words differ between groups by an estimated {amount(controls)} at most."


def deciding_distance_in_words(
    _: RatingDocument, part: AssociationComponent, deciding: DecidingEffect
) -> Iterator[str]:
    """Yield a sentence on the difference of distances to control words, if that difference decided the letter."""
    if deciding.step == 1 and deciding.hidden is None:
        yield from _controls_in_words(part)


def advice(document: RatingDocument, part: AssociationComponent) -> str | None:
    """Return advice on the use of embeddings with this letter; ``None`` if there is no advice on the letter."""
    template = WORDING.sentences["advice"].get(part.letter or "", "")
    return template.format(visible(document.attribute or "the attribute")) or None


DISTANCE = Unit(amount, " in distance")

REPORT = MethodReport(
    Association,
    WORDING.steps,
    WORDING.letters,
    in_words,
    tables,
    in_order(_connections_figure, _words_figure, _densities_figure, _distances_figure),
    lambda *_: ALL_ASKED,
    title_of_words,
    lambda _: "Words",
    unit=lambda *_: DISTANCE,
    decided=deciding_distance_in_words,
    cases=WordCases,
    advice=advice,
)
