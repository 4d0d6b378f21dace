"""Options that name the parts of a file of decisions (`assay audit`); this module imports nothing slow."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cli.options import Number, Text, Texts, argument, option


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Options of `assay audit`: a file of decisions, and the meaning of its columns and values."""

    file: Annotated[Path, argument("The file of decisions: CSV, or Parquet. A row is a person.")]
    by: Annotated[str, option("Columns with the groups of people: sex,race.")]
    decision: Annotated[str, option("Column of the decision.")] = ""
    favourable: Annotated[str, option("Its value that is favourable to the person.")] = ""
    unfavourable: Annotated[Texts, option("Its unfavourable value, if there are more than two. Repeatable.")] = None
    intersection: Annotated[Texts, option("Columns whose combinations are groups too: sex,race. Repeatable.")] = None
    score: Annotated[str, option("Column of a score; a higher one is better for the person.")] = ""
    threshold: Annotated[Number, option("Score from which the decision is favourable, without --decision.")] = None
    steps: Annotated[str, option("Columns of the steps of a process, in order: screened,hired.")] = ""
    step_favourable: Annotated[
        Texts, option("Value that means a step was passed. Repeatable. [default: as --favourable]")
    ] = None
    step_unfavourable: Annotated[Texts, option("Value that means “not passed”; '' for empty cells. Repeatable.")] = None
    truth: Annotated[str, option("Column of what later proved right: repaid, stayed.")] = ""
    truth_favourable: Annotated[
        str, option("Its value by which the favourable decision is right. [default: as --favourable]")
    ] = ""
    truth_unfavourable: Annotated[
        Texts, option("Its value by which it is wrong, if there are more than two. Repeatable.")
    ] = None
    strata: Annotated[str, option("Columns of what may legitimately matter: job,site.")] = ""
    cluster: Annotated[str, option("Column of people who belong together, such as the employer.")] = ""
    weight: Annotated[str, option("Column of weights.")] = ""
    unknown: Annotated[Texts, option("Value that means 'not known', such as ? or Unknown. Repeatable.")] = None
    exclude: Annotated[
        Texts,
        option("Group below 2 % to leave out of comparisons: 'race=Other: why'. Repeatable."),
    ] = None
    tool: Annotated[str, option("Name of the service that decided. [default: the file's]")] = ""
    period: Annotated[str, option("Dates of the data: 2026-01..2026-06.")] = ""
    encoding: Annotated[Text, option("Encoding of a CSV file that is not UTF-8.")] = None
    decimal: Annotated[Literal["point", "comma"] | None, option("Sign before decimals in a CSV file.")] = None
    sheet: Annotated[Text, option("Sheet of an xlsx file. [default: the only one with cells]")] = None
    seed: Annotated[int | None, option("Seed of everything random. [default: random]", min=0, max=2**53 - 1)] = None
    others: Annotated[Texts, option("key=value of the method's other fields, as delta. Repeatable.", "--set")] = None
