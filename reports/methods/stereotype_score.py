"""Tables, figures and sentences of a rating by stereotype-score in a report."""

from collections.abc import Iterator

from assay.document import RatingDocument
from assay.explain import Vocabulary
from assay.methods.stereotype_score.detail import StereotypeComponent
from assay.methods.stereotype_score.method import StereotypeScore
from reports import charts
from reports.in_words import hidden_in_words, tested
from reports.methods import terms
from reports.methods.material import coverage_table, sides, title_of_words
from reports.sheets import Wording, sampled_table
from reports.units import HUNDREDTHS
from reports.view import Forest, Mark, Picture, Span, Table

WORDING = Wording.read("stereotype-score")


def in_words(document: RatingDocument, part: StereotypeComponent) -> Iterator[str]:
    """Yield sentences on which sentence of a pair the model prefers, and on the tested material."""
    side, _ = sides(part)
    neutral = terms.Choices.of(part.sentences, neutral=True)
    stereotyped = terms.Choices.of(part.sentences, neutral=False)
    if neutral.cases:
        yield (
            f"Of {neutral.cases:,} pairs of sentences that differ only in the group and have a neutral attribute, the "
            f"model prefers “{side}” in {neutral.towards:,}{neutral.ties_clause}{neutral.half_clause}."
        )
    if stereotyped.cases:
        count = f"{stereotyped.towards:,}{stereotyped.ties_clause}{stereotyped.half_clause}"
        yield f"Of {stereotyped.cases:,} that hold a stereotype, it prefers the stereotype in {count}."
    content_template = "In a typical sentence pattern it prefers the stereotype, or its opposite, too often, by {size}."
    yield from hidden_in_words(
        part,
        HUNDREDTHS,
        "Taken together, the {name} favour one group by {size}.",
        "In a typical sentence pattern it favours one group or the other by {size}.",
        content_template=content_template,
    )
    example = next((f" such as “{case.first}”" for case in part.sentences if case.first), "")
    pairs_phrase = f"{part.pairs_asked or 0:,} pairs of sentences{example}"
    yield tested(document, part, f"{pairs_phrase}, of the list “{title_of_words(part.name or '')}”")


def tables(part: StereotypeComponent) -> Iterator[Table | None]:
    """Yield the tables of one component, or of all together (the aggregation); ``None`` for an empty table."""
    yield WORDING.sheets["group_pairs"].of(part)
    yield WORDING.sheets["looks"].of(part)
    yield terms.scores_table(part, WORDING.sheets["lists"])
    yield terms.terms_table(part, WORDING.sheets["terms"])
    yield sampled_table(WORDING.sheets["sentences"], part.sentences, terms.MOST_ITEMS)
    refusals = {} if part.pairs_asked is None else part.refused
    yield terms.sources_table(part.writing, refusals, "Sentences", Vocabulary.of(StereotypeScore))
    yield coverage_table(part)
    yield terms.model_table(part)


def figures(part: StereotypeComponent) -> Iterator[Picture | None]:
    """Yield the figures of a component; ``None`` for a figure without data."""
    first_side, _ = sides(part)
    title = "In {} of {} pairs the model prefers the stereotype"
    yield terms.squares_figure(part, part.sentences, title, neutral=False)
    title = "In {} of {} neutral pairs the model prefers the first group"
    yield terms.squares_figure(part, part.sentences, title, neutral=True)
    yield _pairs_figure(part)
    yield terms.lists_figure(part, head="Attributes", verb="prefers", axis="share of pairs")
    yield terms.terms_figure(part, "Neutral attribute terms", f"neutral: share that prefers {first_side}", neutral=True)
    axis = "share that prefers the stereotype"
    yield terms.terms_figure(part, "Attribute terms of the stereotype", axis, neutral=False)


def _pairs_figure(part: StereotypeComponent) -> Picture | None:
    rows = [
        (f"{pair.first} / {pair.second}", pair.neutral, pair.stereotyped)
        for pair in part.group_pairs
        if pair.stereotyped is not None
    ]
    if not rows:
        return None
    shown_rows = rows[: charts.MOST_WORDS]
    marks = tuple(
        Mark(name, (Span(stereotype_share), None if neutral_share is None else Span(neutral_share)))
        for name, neutral_share, stereotype_share in shown_rows
    )
    count = sum(stereotype_share > 0.5 for _, _, stereotype_share in rows)
    title = f"With {count} of {len(rows)} pairs of words for the groups it leans to the stereotype"
    kinds = ("stereotype", "neutral: first word")  # the first is solid, as squares for the stereotype are (`figures`)
    axis, tolerance = "share of pairs; 0.5 prefers neither", part.tolerances.get("step_1")
    table = charts.forest_table(title, "Words", marks, kinds)
    return Forest(title, axis, marks, table, kinds, reference=0.5, tolerance=tolerance)


REPORT = terms.term_report(StereotypeScore, WORDING.steps, WORDING.letters, in_words, tables, figures, ratable="words")
