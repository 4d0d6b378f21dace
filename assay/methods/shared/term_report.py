"""Tables and figures that the reports of stereotype-score and visual-stereotype share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assay.explain import Vocabulary
from assay.methods.shared.report import sides
from assay.reports import cells, charts, parts
from assay.reports.parts import Part
from assay.reports.plain import visible
from assay.reports.sheets import Sheet
from assay.reports.view import Case, CaseWords, Picture, Squares, Table

LISTS: Mapping[str, str] = {"neutral": "neutral", "first_terms": "the first group's", "second_terms": "the second's"}
"""Names of the lists of attribute terms in tables."""

MOST_ITEMS = 20
"""Maximum number of pairs of sentences, or pictures, in a report; the JSON and the export have all."""


def looks_sheet(items: str, key: str) -> Sheet:
    """Describe the table of looks; `items` is the title of the number under `key`."""
    columns = ((f"{items} of each term", "per_term", cells.numbers), (items, key, cells.numbers))
    return Sheet("looks", "Looks at the evidence", (*columns, ("Likeliest", "letter", cells.texts)))


def scores_sheet(title: str, head: str, own: Sequence[tuple[str, str]], interval: str, items: str) -> Sheet:
    """Describe the table of P4's score and other scores of each list; `own` are the method's own columns."""
    columns = (
        (head, "list", cells.texts),
        *((title, key, cells.numbers) for title, key in own),
        (interval, "posterior", cells.intervals),
        ("Pooled, Wilson", "pooled", cells.intervals),
        ("Terms", "terms", cells.numbers),
        (items, items.lower(), cells.numbers),
        ("Ties", "ties", cells.numbers),
    )
    return Sheet("lists", title, columns)


def terms_sheet(title: str, interval: str, items: str) -> Sheet:
    """Describe the table of terms."""
    columns = (
        ("Term", "term", cells.texts),
        ("List", "list", cells.texts),
        ("Score", "score", cells.numbers),
        (interval, "posterior", cells.intervals),
        (items, items.lower(), cells.numbers),
        ("Ties", "ties", cells.numbers),
    )
    return Sheet("terms", f"{title}, those farthest from 1/2 first", columns)


# ---------------------------------------------------------------------------- tables
def scores_table(part: Part, sheet: Sheet) -> Table | None:
    """Show the scores of every list, and of the stereotype as a whole."""
    held = parts.mapping(part, "lists")
    rows: list[Part] = [{**parts.mapping(held, key), "list": title} for key, title in LISTS.items() if key in held]
    if rows and "score" in part:
        rows.append({**parts.mapping(part, "score"), "list": "all but neutral"})
    return sheet.read(rows)


def terms_table(part: Part, sheet: Sheet) -> Table | None:
    """Show the scores of the terms, those farthest from 1/2 first."""
    return sheet.read([{**row, "list": LISTS.get(parts.text(row, "list") or "", "")} for row in _farthest_terms(part)])


def _farthest_terms(part: Part) -> list[Part]:
    """Sort terms by the distance of their score from 1/2, the largest first."""
    return sorted(parts.objects(part, "terms"), key=lambda row: -abs((parts.number(row, "score") or 0.0) - 0.5))


def sources_table(
    part: Part, key: str, made: Mapping[str, str], kept: object, items: str, vocabulary: Vocabulary
) -> Table:
    """Show the counts of prompts to an author, and of stored items that could not be used.

    `made` has the titles of the author's numbers, which the component holds under `key`. `kept` counts the unusable
    stored items by reason. `items` is the plural noun for what the author makes.
    """
    held = parts.mapping(part, key)
    rows = [(title, number) for name, title in made.items() if (number := parts.number(held, name)) is not None]
    losses = (("not used", held.get("refused")), ("failed", held.get("failed")), ("kept but not used", kept))
    rows += [
        (f"{what}: {vocabulary.cause(why)}", number)
        for what, counts in losses
        for why, number in parts.numbers(counts).items()
    ]
    written = tuple((title, cells.number(number)) for title, number in rows)
    return Table(f"Where the {items.lower()} come from", (items, "Number"), written)


def model_table(aggregation: Part) -> Table | None:
    """Show P4's score of a model over all specifications, if there are several."""
    held = parts.mapping(aggregation, "model")
    biases = parts.numbers(held.get("by_bias"))
    if len(biases) < 2:
        return None
    rows = [(visible(name), f"{score:.3f}") for name, score in biases.items()]
    whole = parts.number(held, "over_terms")
    ends = cells.interval(held, "posterior")
    rows += [("all, every term alike (BiasTestGPT)", cells.ABSENT if whole is None else f"{whole:.3f}")]
    rows += [] if ends is None else [("all, by the hierarchy", ends)]
    return Table("Stereotype scores", ("Specification", "Score"), tuple(rows))


# ---------------------------------------------------------------------------- figures
def lists_figure(part: Part, *, head: str, verb: str, axis: str) -> Picture | None:
    """Draw the score of each list of terms against 1/2 and the tolerance."""
    held = parts.mapping(part, "lists")
    first, second = sides(part)
    titles = {"neutral": f"neutral: {verb} {first}"}
    titles |= {"first_terms": f"{first}: stereotype", "second_terms": f"{second}: stereotype"}
    rows = [
        (titles[key], charts.span(parts.mapping(parts.mapping(held, key), "posterior"))) for key in LISTS if key in held
    ]
    tolerance = parts.number(parts.mapping(part, "tolerances"), "step_1")
    title, axis = f"Scores by list of {head.lower()}", f"{axis}; 0.5 prefers neither"
    return charts.forest(title, axis, rows, reference=0.5, tolerance=tolerance, head=head)


def terms_figure(part: Part, title: str, axis: str, *, neutral: bool) -> Picture | None:
    """Draw the terms whose scores lie farthest from 1/2."""
    every = [row for row in _farthest_terms(part) if (row.get("list") == "neutral") is neutral]
    shown = every[: charts.MOST_MARKS]
    rows = [(parts.text(row, "term") or "term", charts.span(parts.mapping(row, "posterior"))) for row in shown]
    return charts.forest(title + _some_terms(shown, every), axis, rows, reference=0.5, head="Term")


def squares_figure(part: Part, key: str, title: str, sides: tuple[str, str], *, neutral: bool) -> Picture | None:
    """Draw a square for each case (pair or picture) under `key`, by term, or by list if there are too many terms.

    `title` has two placeholders: the number of cases on the first of `sides`, and the number of all cases.
    """
    known = [
        (row, parts.text(row, "term"), min(1.0, max(0.0, share)))
        for row in parts.objects(part, key)
        if (row.get("list") == "neutral") is neutral and (share := parts.number(row, "towards")) is not None
    ]
    if not known:
        return None
    by = "term" if len({term for _, term, _ in known}) <= charts.MOST_MARKS else "list"
    rows: dict[str, list[float]] = {}
    for row, term, share in known:
        name = (term if by == "term" else parts.text(row, by)) or by
        rows.setdefault(LISTS.get(name, name) if by == "list" else name, []).append(share)
    ordered = sorted(
        ((name, tuple(sorted(each, reverse=True))) for name, each in rows.items()),
        key=lambda row: -sum(row[1]) / len(row[1]),
    )
    written = tuple((name, f"{sum(each):.4g}", str(len(each))) for name, each in ordered)
    said = title.format(sum(share > 0.5 for _, _, share in known), len(known))
    twin = Table(said, ("Term" if by == "term" else "List", sides[0].capitalize(), "Of"), written)
    return Squares(said, tuple(ordered), *sides, twin, partial(_cases, part, known))


def _cases(part: Part, known: Sequence[tuple[Part, str | None, float]]) -> tuple[tuple[str, tuple[Case, ...]], ...]:
    """Group the cases by term; cases with the largest share, and terms with the largest mean share, come first."""
    names = sides(part)
    groups = {"first_terms": f"Said of {names[0]}", "second_terms": f"Said of {names[1]}"}
    held: dict[str, list[Case]] = {}
    for row, term, share in known:
        group = groups.get(parts.text(row, "list") or "", "Neutral")
        held.setdefault(term or "term", []).append(Case(share, group, partial(_in_words, names, row)))
    rows = [(term, tuple(sorted(cases, key=lambda case: -case.share))) for term, cases in held.items()]
    return tuple(sorted(rows, key=lambda row: -sum(case.share for case in row[1]) / len(row[1])))


def _in_words(names: tuple[str, str], row: Part) -> CaseWords:
    """Write a case in words, its term first."""
    (first, second), term = names, parts.text(row, "term") or "term"
    texts = [text for key in ("first", "second") if (text := parts.text(row, key))]
    if row.get("prefers") == "second":
        texts.reverse()
    words = ("likelier: {}", "less likely: {}") if row.get("prefers") in {"first", "second"} else ("{}", "{}")
    lines = [template.format(text) for template, text in zip(words, texts, strict=False)]
    image, score = parts.text(row, "image"), parts.number(row, "first_score")
    named = {"first": first, "second": second}.get(parts.text(row, "names") or "") if image else None
    label = parts.text(row, "says") or named
    lines += [f"labelled {label}"] if label else []
    lines += [f"score of “{first}”: {score:.3g}"] if image and score is not None else []
    return CaseWords((term, *lines), texts[0] if texts else image or term, image or "")


def _some_terms(shown: Sequence[Any], every: Sequence[Any]) -> str:
    return f": the {len(shown)} farthest of {len(every)}" if len(shown) < len(every) else ""


# ---------------------------------------------------------------------------- words
@dataclass(frozen=True)
class Choices:
    """Counted outcomes of a list's cases (pairs of sentences, or pictures).

    Attributes
    ----------
    cases : int
        Cases with a usable answer.
    towards, against : int
        Cases on the side of the stereotype (with neutral terms: of the first group), and on the other side.
    mean : float
        Mean score of that side over the cases.
    """

    cases: int
    towards: int
    against: int
    mean: float

    @classmethod
    def of(cls, part: Part, key: str, *, neutral: bool) -> Choices:
        """Count the cases that a component lists under `key`, those of neutral terms or all others."""
        rows = (row for row in parts.objects(part, key) if (row.get("list") == "neutral") is neutral)
        shares = [share for row in rows if (share := parts.number(row, "towards")) is not None]
        towards, against = (sum(share > 0.5 for share in shares), sum(share < 0.5 for share in shares))
        return cls(len(shares), towards, against, sum(shares) / len(shares) if shares else 0.5)

    @property
    def ties(self) -> str:
        """The cases that are on neither side, as a clause; empty if there are none."""
        undecided = self.cases - self.towards - self.against
        return f" ({undecided:,} undecided)" if undecided else ""
