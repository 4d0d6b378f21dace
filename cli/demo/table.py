"""The table of ratings that `assay demo` prints."""

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.demo.demo_services import Case
from cli.terminal import escape

LEAST_WIDTH = 104
"""Minimum width of the table in columns, if the output is not a terminal."""

STYLES = {"UCS": "bold green", "DSBS": "bold yellow", "BS": "bold magenta"}
LETTERS = ("BS", "DSBS", "UCS")

PUBLISHED_RULE = "chi-squared/similar-to-biased"
"""Name of the rule in section 4.3 of Srivastava & Rossi (2018), whose letter is shown beside Assay's rating."""

HEADINGS = ("service", "kind", "rating", "expected", *LETTERS, "paper", "questions")
NUMERIC = {*LETTERS, "questions"}

SHORTENED_COLUMN = "kind"
"""Column that is shortened if the terminal is too narrow."""

CAPTION = (
    "expected: the letter that the service was built to deserve; none: nothing can be measured; –: unknown.\n"
    "BS, DSBS, UCS: probability of each letter. paper: the letter by the rule printed in Srivastava & Rossi (2018).\n"
    "questions: different questions that the service was asked."
)


def table_of(cases: Sequence[Case]) -> Table:
    """Build the table from the results so far, one row per rating."""
    title = "Ratings of services whose behaviour is known"
    table = Table(
        box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, show_edge=False, collapse_padding=True
    )
    for heading in HEADINGS:
        table.add_column(
            heading,
            justify="right" if heading in NUMERIC else "left",
            no_wrap=heading != SHORTENED_COLUMN,
            overflow="ellipsis",
        )
    for _, section in groupby(cases, key=lambda case: case.section):
        for case in section:
            table.add_row(f"  {case.suffix}" if case.suffix else case.name, case.kind, *_result_cells(case))
        table.add_section()
    table.caption, table.caption_justify = CAPTION, "left"
    return table


def _result_cells(case: Case) -> tuple[Text | str, ...]:
    """Return a row's cells after name and kind: the progress of an unfinished case, or the result."""
    if not case.finished:
        asked_count, total = case.job.get("asked", 0), case.job.get("expected", 0)
        progress = f"{asked_count}/{total}" if asked_count else str(case.job.get("stage", "queued"))
        return Text(progress, "dim"), _expected_end(case)
    expected_end = Text(_expected_end(case))
    if case.expected != "any":
        expected_end.append_text(Text(" ✓", "green") if case.as_expected else Text(" ✗", "red"))
    if case.rating is None:
        # without a rating, there are no probabilities, no published rule and no number of questions
        return Text(str(case.job["status"])), expected_end, "–", "–", "–", "–", "–"
    rating = case.rating
    result = rating["letter"] if rating["declared"] else "inconclusive"
    style = STYLES.get(rating["letter"] or "", "") if rating["declared"] else ""
    probabilities = rating["probabilities"]
    probability_cells = [f"{probabilities[letter]:.2f}" if probabilities else "–" for letter in LETTERS]
    published_result = rating["published"].get(PUBLISHED_RULE) or "–"
    return Text(result, style), expected_end, *probability_cells, published_result, str(rating["calls"])


def _expected_end(case: Case) -> str:
    return {"any": "–", "inconclusive": "none"}.get(case.expected, case.expected)


def print_results(console: Console, cases: Sequence[Case], seconds: float) -> None:
    """Print the reason and the report of each case, then how many ended as expected."""
    for case in cases:
        reason = case.rating["reasons"][0]["text"] if case.rating else (case.job.get("error") or {}).get("detail", "")
        console.print(f"\n[bold]{case.name}[/bold]  {case.sentence}\n  {escape(reason)}")
    console.print("\nReports:")
    for case in cases:
        if case.report:
            console.print(f"  {case.name:<34} {case.report}", soft_wrap=True)
    predictable = [case for case in cases if case.expected != "any"]
    as_expected = sum(case.as_expected for case in predictable)
    console.print(f"\n{as_expected} of {len(predictable)} ended as expected, in {seconds:.0f} s.")
