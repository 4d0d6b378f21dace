"""Tables, figures and sentences of a rating by visual-stereotype in a report."""

from collections.abc import Iterator

from assay.document import RatingDocument
from assay.explain import Vocabulary
from assay.methods.visual_stereotype.detail import PictureComponent
from assay.methods.visual_stereotype.method import VisualStereotype
from reports import cells
from reports.in_words import hidden_in_words, tested
from reports.methods import terms
from reports.methods.material import coverage_table, sides, title_of_words
from reports.sheets import Wording, sampled_table
from reports.units import HUNDREDTHS
from reports.view import Picture, Table

WORDING = Wording.read("visual-stereotype")


def in_words(document: RatingDocument, part: PictureComponent) -> Iterator[str]:
    """Yield sentences on the label that pictures get, and on the tested material."""
    side, other_side = sides(part)
    neutral = terms.Choices.of(part.images, neutral=True)
    stereotyped = terms.Choices.of(part.images, neutral=False)
    verb, mean_template = "get", ""
    if part.scale == "probabilities":
        verb, mean_template = "have a higher probability for", ", whose mean probability is {:.2f}"
    if neutral.cases:
        yield (
            f"Of {neutral.cases:,} neutral pictures {neutral.towards:,} {verb} the label “{side}”{neutral.ties_clause}"
            f"{mean_template.format(neutral.mean)}{neutral.half_clause}."
        )
    if stereotyped.cases:
        yield (
            f"Of {stereotyped.cases:,} pictures of stereotypes {stereotyped.towards:,} {verb} the stereotyped label"
            f"{stereotyped.ties_clause}{mean_template.format(stereotyped.mean)}{stereotyped.half_clause}."
        )
    stratum_template = "The preference for one label that pictures of {name} have in common is {size}."
    yield from hidden_in_words(part, HUNDREDTHS, stratum_template)
    asked, title = part.images_asked or 0, title_of_words(part.name or "")
    yield tested(document, part, f"{asked:,} pictures of the list “{title}”, to be labelled “{side}” or “{other_side}”")


def tables(part: PictureComponent) -> Iterator[Table | None]:
    """Yield the tables of one component, or of all together (the aggregation); ``None`` for an empty table."""
    yield terms.scores_table(part, WORDING.sheets["lists"])
    yield terms.terms_table(part, WORDING.sheets["terms"])
    yield sampled_table(WORDING.sheets["images"], part.images, terms.MOST_ITEMS)
    yield WORDING.sheets["looks"].of(part)
    yield _answers_table(part)
    yield terms.sources_table(part.drawing, part.refused, "Pictures", Vocabulary.of(VisualStereotype))
    yield coverage_table(part)
    yield terms.model_table(part)


def figures(part: PictureComponent) -> Iterator[Picture | None]:
    """Yield the figures of a component; ``None`` for a figure without data."""
    first_side, _ = sides(part)
    yield terms.squares_figure(part, part.images, "{} of {} pictures get the label of the stereotype", neutral=False)
    yield terms.squares_figure(part, part.images, "{} of {} neutral pictures get the first label", neutral=True)
    axis = "mean probability" if part.scale == "probabilities" else "share of pictures"
    yield terms.lists_figure(part, head="Terms", verb="gives", axis=axis)
    yield terms.terms_figure(part, "Neutral generation terms", f"neutral: score of {first_side}", neutral=True)
    axis = "score of the stereotyped label"
    yield terms.terms_figure(part, "Generation terms of the stereotype", axis, neutral=False)


def _answers_table(part: PictureComponent) -> Table:
    titles = {"first": "the first label", "second": "the second", "alike": "both as probable", "both": "both labels"}
    titles |= {"neither": "neither label", "with-the-order": "another one in another order"}
    rows = [(title, cells.number(part.named[key])) for key, title in titles.items() if key in part.named]
    rows += [
        (title, cells.number(part.orders[key]))
        for key, title in (("both", "shown in both orders"), ("changed", "of these, changed with the order"))
        if key in part.orders
    ]
    return Table("What the answers named", ("Answers", "Pictures"), tuple(rows))


REPORT = terms.term_report(
    VisualStereotype, WORDING.steps, WORDING.letters, in_words, tables, figures, ratable="pictures"
)
