"""Tables and figures that the reports of stereotype-score and visual-stereotype share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from assay.document import Shares
from assay.explain import Vocabulary
from assay.methods.shared.detail import CaseDocument, Scores, Source, TermsComponent, TermScore
from reports import cells, charts
from reports.cases import TermCases
from reports.method_report import MethodReport, Room
from reports.methods.material import sides, title_of_words
from reports.sheets import Sheet, shown_suffix
from reports.units import of_hundred
from reports.view import Case, Picture, Squares, Table

LISTS: Mapping[str, str] = {"neutral": "neutral", "first_terms": "the first group's", "second_terms": "the second's"}
"""Names of the lists of attribute terms in tables."""

MOST_ITEMS = 20
"""Maximum number of pairs of sentences, or pictures, in a report; the JSON and the export have all."""


def scores_table(part: TermsComponent, sheet: Sheet) -> Table | None:
    """Return the table of the scores of each list of terms, and of both lists of stereotypes together."""
    rows = [replace(part.lists[key], list=title) for key, title in LISTS.items() if key in part.lists]
    if rows and part.score is not None:
        rows.append(replace(part.score, list="all but neutral"))
    return sheet.of_rows(rows)


def terms_table(part: TermsComponent, sheet: Sheet) -> Table | None:
    """Return the table of the scores of the terms, those farthest from 1/2 first."""
    return sheet.of_rows([replace(row, list=LISTS.get(row.list or "", "")) for row in _farthest_terms(part)])


def _farthest_terms(part: TermsComponent) -> list[TermScore]:
    """Sort terms by the distance of their score from 1/2, the largest first."""
    return sorted(part.terms, key=lambda row: -abs((row.score or 0.0) - 0.5))


def sources_table(source: Source, unused: Shares, items: str, vocabulary: Vocabulary) -> Table:
    """Return a table about the author (the model that made the items): numbers of prompts, items and unusable items.

    `unused` counts the unusable stored items by reason. `items` is the author's product, such as "Sentences".
    """
    usable = {"written and of use": source.written, "drawn and of use": source.drawn}
    prompt_counts = {"wanted": source.wanted, "prompts": source.asked, **usable}
    rows = [(title, number) for title, number in prompt_counts.items() if number is not None]
    losses = (("not used", source.refused), ("failed", source.failed), ("kept but not used", unused))
    rows += [
        (f"{outcome}: {vocabulary.cause(reason)}", number)
        for outcome, counts in losses
        for reason, number in counts.items()
    ]
    table_rows = tuple((title, cells.number(number)) for title, number in rows)
    return Table(f"Where the {items.lower()} come from", (items, "Number"), table_rows)


def model_table(aggregation: TermsComponent) -> Table | None:
    """Return a table of a model's score for each specification of words and over all; ``None`` if there is one only."""
    model = aggregation.model
    if len(model.by_bias) < 2:
        return None
    rows = [(name, f"{score:.3f}") for name, score in model.by_bias.items()]
    mean_score, posterior_text = model.over_terms, cells.interval(model.posterior)
    rows += [("all, every term alike (BiasTestGPT)", cells.ABSENT if mean_score is None else f"{mean_score:.3f}")]
    rows += [] if posterior_text is None else [("all, by the hierarchy", posterior_text)]
    return Table("Stereotype scores", ("Specification", "Score"), tuple(rows))


def lists_figure(part: TermsComponent, *, head: str, verb: str, axis: str) -> Picture | None:
    """Return a figure of the score of each list of terms; `verb` says what the model does with a group ("prefers")."""
    first_side, second_side = sides(part)
    titles = {"neutral": f"neutral: {verb} {first_side}"}
    titles |= {"first_terms": f"{first_side}: stereotype", "second_terms": f"{second_side}: stereotype"}
    rows = [(titles[key], charts.span(part.lists[key].posterior)) for key in LISTS if key in part.lists]
    title, axis = f"Scores by list of {head.lower()}", f"{axis}; 0.5 prefers neither"
    return charts.forest(title, axis, rows, reference=0.5, tolerance=part.tolerances.get("step_1"), head=head)


def terms_figure(part: TermsComponent, title: str, axis: str, *, neutral: bool) -> Picture | None:
    """Return a figure of the terms whose scores are farthest from 1/2: neutral terms if `neutral`, else the others."""
    terms = [row for row in _farthest_terms(part) if (row.list == "neutral") is neutral]
    shown_terms = terms[: charts.MOST_MARKS]
    rows = [(row.term or "term", charts.span(row.posterior)) for row in shown_terms]
    title += shown_suffix(shown_terms, terms, ": the {} farthest of {}")
    return charts.forest(title, axis, rows, reference=0.5, head="Term")


def squares_figure(part: TermsComponent, cases: Sequence[CaseDocument], title: str, *, neutral: bool) -> Picture | None:
    """Return a figure with a square for each case (pair or picture), by term, or by list if terms are too many.

    `title` has two placeholders: the number of cases on the first side, and the number of all cases.
    """
    filled, hollow = sides(part) if neutral else ("the stereotype", "the opposite")
    scored_cases = [
        (case, min(1.0, max(0.0, case.towards)))  # a file can hold any number
        for case in cases
        if (case.list == "neutral") is neutral and case.towards is not None
    ]
    if not scored_cases:
        return None
    grouping = "term" if len({case.term for case, _ in scored_cases}) <= charts.MOST_MARKS else "list"
    shares_by_name: dict[str, list[float]] = {}
    for case, share in scored_cases:
        group = (case.term if grouping == "term" else case.list) or grouping  # a case of a file can lack term or list
        row_name = LISTS.get(group, group) if grouping == "list" else group
        shares_by_name.setdefault(row_name, []).append(share)
    share_rows = sorted(
        ((name, tuple(sorted(shares, reverse=True))) for name, shares in shares_by_name.items()),
        key=lambda row: -sum(row[1]) / len(row[1]),  # the largest mean share first
    )
    table_rows = tuple((name, f"{sum(shares):.4g}", str(len(shares))) for name, shares in share_rows)
    heading = title.format(sum(share > 0.5 for _, share in scored_cases), len(scored_cases))
    ties_note = ", undecided counted half" if any(share == 0.5 for _, share in scored_cases) else ""
    column = f"{filled.capitalize()}{ties_note}"
    table = Table(heading, ("Term" if grouping == "term" else "List", column, "Of"), table_rows)
    described_cases = _cases_by_term(part, scored_cases)
    return Squares(heading, tuple(share_rows), filled, hollow, table, described_cases, step=1 if neutral else 2)


def _cases_by_term(
    part: TermsComponent, scored_cases: Sequence[tuple[CaseDocument, float]]
) -> tuple[tuple[str, tuple[Case, ...]], ...]:
    """Return (term, cases) pairs: terms by descending mean share, and the cases of a term by descending share."""
    by_term: dict[str, list[Case]] = {}
    for case, share in scored_cases:
        by_term.setdefault(case.term or "term", []).append(_describe_case(case, share, sides(part)))
    rows = [(term, tuple(sorted(cases, key=lambda case: -case.share))) for term, cases in by_term.items()]
    # the largest mean share first; a row is a term with its cases
    return tuple(sorted(rows, key=lambda row: -sum(case.share for case in row[1]) / len(row[1])))


def _describe_case(case: CaseDocument, share: float, side_names: tuple[str, str]) -> Case:
    """Describe a pair of sentences or a picture for its square, of which `share` is filled."""
    (side, other_side), term = side_names, case.term or "term"
    group = {"first_terms": f"Said of {side}", "second_terms": f"Said of {other_side}"}.get(case.list or "", "Neutral")
    texts = [text for text in (case.first, case.second) if text]
    if case.prefers == "second":
        texts.reverse()
    templates = ("likelier: {}", "less likely: {}") if case.prefers in {"first", "second"} else ("{}", "{}")
    lines = [template.format(text) for template, text in zip(templates, texts, strict=False)]
    image, score = case.image, case.first_score
    # only pictures are labelled: by the answer's own words, or by the side that it names
    label = case.says or ({"first": side, "second": other_side}.get(case.names or "") if image else None)
    lines += [f"labelled {label}"] if label else []
    lines += [f"score of “{side}”: {score:.3g}"] if image and score is not None else []
    return Case(share, group, (term, *lines), search=texts[0] if texts else image or term, image=image or "")


@dataclass(frozen=True)
class Choices:
    """Counts of cases (pairs of sentences, or pictures) by chosen side, either for neutral terms or for all others."""

    cases: int
    """Cases with a usable answer."""
    towards: int
    """Cases on the side of the stereotype (with neutral terms: of the first group)."""
    ties: int
    """Cases on neither side."""
    mean: float
    """Mean score over the cases, 1 for each on the side that `towards` counts and 1/2 for a tie."""

    @classmethod
    def of(cls, cases: Sequence[CaseDocument], *, neutral: bool, scores: Scores | None = None) -> Self:
        """Count the cases of neutral terms, or else of all others; `scores.over_terms`, if known, becomes `mean`."""
        shares = [case.towards for case in cases if (case.list == "neutral") is neutral and case.towards is not None]
        towards, ties = sum(share > 0.5 for share in shares), sum(share == 0.5 for share in shares)
        mean = None if scores is None else scores.over_terms
        if mean is None:
            mean = sum(shares) / len(shares) if shares else 0.5
        return cls(len(shares), towards, ties, mean)

    @property
    def pairs(self) -> int:
        """Number of cases on one side or the other, without ties."""
        return self.cases - self.ties

    @property
    def share(self) -> float | None:
        """Share of the cases without ties that `towards` counts; ``None`` if all cases are ties."""
        return self.towards / self.pairs if self.pairs else None

    @property
    def is_contradicted(self) -> bool:
        """Whether the mean score leans to one side, but most cases are on the other."""
        return self.share is not None and (self.mean >= 0.5) != (self.share >= 0.5)

    @property
    def ties_clause(self) -> str:
        """Clause with the number of cases on neither side; empty if there are none."""
        return f" ({self.ties:,} undecided)" if self.ties else ""

    @property
    def half_clause(self) -> str:
        """Clause with the number of cases to expect without any preference: half of them."""
        return f"; half of them ({self.cases / 2:,.10g}) would be no preference"


ALL_ASKED = Room(0, "", "terms of “words”")
"""Room for 0 further questions: terms differ, so more items of the same terms hardly help; terms can be added."""

term_report = partial(
    MethodReport, room=lambda *_: ALL_ASKED, title_of=title_of_words, unit=of_hundred, cases=TermCases
)
"""Returns the report of a method with terms; takes what differs between these methods."""
