"""Options that name the parts of a file of decisions (`assay audit`); this module imports nothing slow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A file of decisions, and the names of its parts."""

    file: Annotated[Path, typer.Argument(help="The file of decisions: CSV, or Parquet. A row is a person.")]
    by: Annotated[str, typer.Option(help="Columns with the groups of people: sex,race.")]
    decision: Annotated[str, typer.Option(help="Column of the decision.")] = ""
    favourable: Annotated[str, typer.Option(help="Its value that is favourable to the person.")] = ""
    unfavourable: Annotated[
        list[str] | None, typer.Option(help="Its unfavourable value, if there are more than two. Repeatable.")
    ] = None
    intersection: Annotated[
        list[str] | None, typer.Option(help="Columns whose combinations are groups too: sex,race. Repeatable.")
    ] = None
    score: Annotated[str, typer.Option(help="Column of a score; a higher one is better for the person.")] = ""
    threshold: Annotated[
        float | None, typer.Option(help="Score from which the decision is favourable, without --decision.")
    ] = None
    steps: Annotated[str, typer.Option(help="Columns of the steps of a process, in order: screened,hired.")] = ""
    step_favourable: Annotated[
        list[str] | None,
        typer.Option(help="Value that means a step was passed. Repeatable. [default: as --favourable]"),
    ] = None
    step_unfavourable: Annotated[
        list[str] | None, typer.Option(help="Value that means “not passed”; '' for empty cells. Repeatable.")
    ] = None
    truth: Annotated[str, typer.Option(help="Column of what later proved right: repaid, stayed.")] = ""
    truth_favourable: Annotated[
        str, typer.Option(help="Its value by which the favourable decision is right. [default: as --favourable]")
    ] = ""
    truth_unfavourable: Annotated[
        list[str] | None, typer.Option(help="Its value by which it is wrong, if there are more than two. Repeatable.")
    ] = None
    strata: Annotated[str, typer.Option(help="Columns of what may legitimately matter: job,site.")] = ""
    cluster: Annotated[str, typer.Option(help="Column of people who belong together, such as the employer.")] = ""
    weight: Annotated[str, typer.Option(help="Column of weights.")] = ""
    unknown: Annotated[
        list[str] | None, typer.Option(help="Value that means 'not known', such as ? or Unknown. Repeatable.")
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Group below 2 % to leave out of comparisons: 'race=Other: why'. Repeatable."),
    ] = None
    tool: Annotated[str, typer.Option(help="Name of the service that decided. [default: the file's]")] = ""
    period: Annotated[str, typer.Option(help="Dates of the data: 2026-01..2026-06.")] = ""
    encoding: Annotated[str | None, typer.Option(help="Encoding of a CSV file that is not UTF-8.")] = None
    decimal: Annotated[str | None, typer.Option(help="Sign before decimals in a CSV file: point or comma.")] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of an xlsx file. [default: the only one with cells]")] = None
    seed: Annotated[int | None, typer.Option(help="Seed of everything random. [default: random]", min=0)] = None
    others: Annotated[
        list[str] | None, typer.Option("--set", help="key=value of the method's other fields, as delta. Repeatable.")
    ] = None
