"""Texts, lists and JSON on a terminal.

Texts of services, catalogs and other agencies are escaped, so that they cannot move the cursor or reorder text.
"""

import json
import sys
from collections.abc import Iterable

from rich import markup
from rich.console import Console
from rich.table import Table

from assay.document import Json
from reports.plain import escape_hidden


def escape(text: object) -> str:
    """Return a text for `rich`: brackets are no markup, invisible characters are codes (⟨U+202E⟩), line ends spaces."""
    return markup.escape(escape_hidden(str(text)))


console = Console(highlight=False)


def print_json(document: object, *, ensure_ascii: bool = True) -> None:
    """Print a document as JSON, by default in ASCII, so that no character controls the terminal; refuse NaN."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=ensure_ascii, allow_nan=False) + "\n")


def show_list(rows: Iterable[Json], *, search: str | None, as_json: bool) -> None:
    """Print the rows that contain the text `search`, in upper or lower case, as JSON or as a table."""
    if search is not None:
        rows = [row for row in rows if search.casefold() in json.dumps(row, ensure_ascii=False).casefold()]
    rows = list(rows)
    if as_json:
        print_json(rows, ensure_ascii=False)
        return
    if not rows:
        console.print("none")
        return
    first_name, *other_names = rows[0]
    table = Table(box=None, padding=(0, 2))
    table.add_column(first_name, no_wrap=True, min_width=max(len(str(row[first_name])) for row in rows))
    for name in other_names:
        table.add_column(name.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(escape(_cell_text(row[name])) for name in (first_name, *other_names)))
    console.print(table)


def _cell_text(value: object) -> str:
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
