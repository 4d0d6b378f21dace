"""`assay compose`: the inferred rating of services called one after the other, from letters or files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.composition import TABLES, TableName
from assay.composition.compatibility import check_length
from assay.composition.document import composition_document
from assay.composition.lookup import Part, part_of, tables_document
from assay.errors import SpecificationError, UnknownName
from assay.experiment import generator
from assay.model import Letter
from cli.exits import Exit
from cli.rating.compare import read_rating
from cli.terminal import escape

console = Console(highlight=False)

TITLES = {"published": "published (P5, Table 2)", "revised": "revised"}


def compose_named(named: Sequence[str], *, table: str, as_json: bool) -> Exit:
    """Compose letters and rating files, print what is inferred, and return the letter as an exit code.

    Parameters
    ----------
    named : sequence of str
        ``UCS``, ``DSBS``, ``BS``, or files as ``assay rate --json`` prints them; first service to last.
    table : str
        ``published`` or ``revised``: the table that gives the headline letter.

    Raises
    ------
    SpecificationError
        If a file is not a rating, the services do not fit together, or the table is unknown.
    """
    headline: TableName | None = next((each for each in TABLES if each == table), None)
    if headline is None:
        raise UnknownName("table", table, TABLES, "table")
    check_length(len(named))
    links = [Letter(each.upper()) if each.upper() in set(Letter) else read_rating(Path(each)) for each in named]
    found = _composed(links, named, headline)
    if as_json:
        console.file.write(json.dumps(found, indent=2, allow_nan=False) + "\n")
    else:
        _show(found, links, named)
    letter = found["letter"]
    return Exit.of_rating(letter, letter is not None)


def _composed(links: Sequence[Letter | dict[str, Any]], named: Sequence[str], table: TableName) -> dict[str, Any]:
    """Compose the ratings with their matrices; with a letter among them, use the tables alone."""
    ratings = [one for one in links if not isinstance(one, Letter)]
    try:
        if len(ratings) == len(links):
            return composition_document(ratings, generator(0), table=table)
        parts = [Part(one) if isinstance(one, Letter) else part_of(one) for one in links]
    except SpecificationError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as damaged:
        files = ", ".join(name for name, one in zip(named, links, strict=True) if not isinstance(one, Letter))
        why = f"{type(damaged).__name__}: {damaged}"
        raise SpecificationError(
            f"one of {files} is no whole rating ({why}); give what GET /v1/ratings gives"
        ) from None
    found = tables_document(parts, table)
    return {"provenance": "inferred", "letter": found["tables"][table]["letter"], "predicted": None, **found}


def _show(found: Mapping[str, Any], links: Sequence[Letter | dict[str, Any]], named: Sequence[str]) -> None:
    written = " * ".join(_title(one, name) for one, name in zip(links, named, strict=True))
    said = found["letter"] or f"must be measured ({' or '.join(found['possible'])})"
    console.print(f"[bold]{escape(written)}[/bold]  inferred: [bold]{said}[/bold]", soft_wrap=True)
    weighed = any(each["probabilities"] for each in found["tables"].values())
    columns = ["table", "possible", "worst", *(("BS", "DSBS", "UCS", "must be measured") if weighed else ())]
    table = Table(*columns, box=None)
    for name, answer in found["tables"].items():
        possible = " or ".join(answer["possible"]) + (" (contradiction)" if answer["contradiction"] else "")
        table.add_row(TITLES[name], possible, answer["worst"], *_numbers(answer["probabilities"]))
    if found["predicted"] is not None:
        one = found["predicted"]
        likely = one["letter"] if one["declared"] else f"leaning {one['letter']}"
        table.add_row("matrices", likely, one["letter"], *_numbers(one["probabilities"]))
    console.print(table)
    for sentence in found.get("explanation", ()):
        console.print(escape(sentence), soft_wrap=True)
    if found.get("not_predicted"):
        console.print(escape(f"No prediction from matrices: {found['not_predicted']}."), soft_wrap=True)


def _title(one: Letter | Mapping[str, Any], name: str) -> str:
    if isinstance(one, Letter):
        return one.value
    letter = one["letter"] if one.get("declared") else "inconclusive"
    return f"{one.get('target', {}).get('name', name)} ({letter})"


def _numbers(probabilities: Mapping[str, float] | None) -> tuple[str, ...]:
    if probabilities is None:
        return ()
    return tuple(f"{probabilities.get(name, 0.0):.3f}" for name in ("BS", "DSBS", "UCS", "must_be_measured"))
