"""How `assay demo` shows what came of its cases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cli.demo_cases import Case

LEAST_WIDTH = 88
"""Columns of a table where there is no terminal to measure."""

STYLES = {"UCS": "bold green", "DSBS": "bold yellow", "BS": "bold magenta"}
LETTERS = ("BS", "DSBS", "UCS")

PUBLISHED_RULE = "chi-squared/similar-to-biased"
"""P5's section 4.3 to the letter; it stands beside the headline to show where they differ."""

HEADINGS = ("service", "kind", "rating", "due", *LETTERS, "P5", "calls")
IN_NUMBERS = {*LETTERS, "calls"}

GIVES_WAY = "kind"
"""Column that is cut where a terminal is too narrow for all."""

CAPTION = (
    "due: what the service is known to deserve. BS, DSBS, UCS: probability of each letter.\n"
    "P5: the letter that the paper's own rule for translators gives."
)


def table_of(cases: Sequence[Case]) -> Table:
    """Draw the table as far as it is known; a line for each rating."""
    title = "Ratings of services whose behaviour is known"
    table = Table(
        box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, show_edge=False, collapse_padding=True
    )
    for heading in HEADINGS:
        table.add_column(
            heading,
            justify="right" if heading in IN_NUMBERS else "left",
            no_wrap=heading != GIVES_WAY,
            overflow="ellipsis",
        )
    for _, section in groupby(cases, key=lambda case: case.section):
        for case in section:
            table.add_row(f"  {case.again}" if case.again else case.name, case.kind, *_result(case))
        table.add_section()
    table.caption, table.caption_justify = CAPTION, "left"
    return table


def _result(case: Case) -> tuple[Text | str, ...]:
    """Say how far a case is, or what came of it."""
    if not case.finished:
        asked, expected = case.job.get("asked", 0), case.job.get("expected", 0)
        return Text(f"{asked}/{expected}" if asked else str(case.job.get("stage", "queued")), "dim"), _due(case)
    due = Text(_due(case))
    if case.expected != "any":
        due.append_text(Text(" ✓", "green") if case.as_expected else Text(" ✗", "red"))
    if case.rating is None:
        return Text(str(case.job["status"])), due, "–", "–", "–", "–", "–"
    rating = case.rating
    said = rating["letter"] if rating["declared"] else "inconclusive"
    style = STYLES.get(rating["letter"] or "", "") if rating["declared"] else ""
    shares = rating["probabilities"]
    numbers = [f"{shares[letter]:.2f}" if shares else "–" for letter in LETTERS]
    return Text(said, style), due, *numbers, rating["published"].get(PUBLISHED_RULE) or "–", str(rating["calls"])


def _due(case: Case) -> str:
    """Say in few letters what is expected."""
    return {"any": "–", "inconclusive": "none"}.get(case.expected, case.expected)


def say_results(console: Console, cases: Sequence[Case], seconds: float) -> None:
    """Say of each case why it ended so, where its report is, and how many ended as they should."""
    for case in cases:
        said = case.rating["reasons"][0]["text"] if case.rating else (case.job.get("error") or {}).get("detail", "")
        console.print(f"\n[bold]{case.name}[/bold]  {case.sentence}\n  {escape(said)}")
    console.print("\nReports:")
    for case in cases:
        if case.report:
            console.print(f"  {case.name:<34} {case.report}", soft_wrap=True)
    known = [case for case in cases if case.expected != "any"]
    right = sum(case.as_expected for case in known)
    console.print(f"\n{right} of {len(known)} ended as their known behaviour says, in {seconds:.0f} s.")
