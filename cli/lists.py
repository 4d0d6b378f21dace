"""Lists of rows, filtered by a text, as a table or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from cli.terminal import escape

console = Console(highlight=False)


def show_list(rows: Iterable[Mapping[str, Any]], *, search: str | None, as_json: bool) -> None:
    """Print rows with the same keys; the first column is never cut.

    Parameters
    ----------
    search : str, optional
        Text that a row must contain, without regard to case.
    as_json : bool
        Print all members as JSON.
    """
    matching = [
        row for row in rows if search is None or search.casefold() in json.dumps(row, ensure_ascii=False).casefold()
    ]
    if as_json:
        sys.stdout.write(json.dumps(matching, indent=2, ensure_ascii=False) + "\n")
        return
    if not matching:
        console.print("none")
        return
    names = list(matching[0])
    table = Table(box=None, padding=(0, 2))
    table.add_column(names[0], no_wrap=True, min_width=max(len(str(row[names[0]])) for row in matching))
    for name in names[1:]:
        table.add_column(name.replace("_", " "), overflow="fold")
    for row in matching:
        table.add_row(*(escape(_cell(row[name])) for name in names))
    console.print(table)


def _cell(value: Any) -> str:
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
