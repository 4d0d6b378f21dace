"""`assay side-by-side`: letters of two or more services, part by part."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from assay.rating.side_by_side import side_by_side_document
from cli.rating.compare import read_rating
from cli.terminal import escape

ABSENT = "–"

console = Console(highlight=False)


def show_side_by_side(files: Sequence[Path], without: Sequence[str], *, vote: bool, as_json: bool) -> None:
    """Print the letters of several ratings as one table.

    Raises
    ------
    SpecificationError
        If a file is not a rating, or the ratings cannot be compared.
    """
    aggregation: Literal["worst", "vote"] = "vote" if vote else "worst"
    comparison = side_by_side_document([read_rating(file) for file in files], without, aggregation)
    if as_json:
        console.file.write(json.dumps(comparison, indent=2, allow_nan=False) + "\n")
        return
    table = Table("Part", *(escape(service["name"]) for service in comparison["services"]), box=None)
    for row in comparison["rows"]:
        table.add_row(escape(row["part"]), *map(_letter, row["cells"]))
    table.add_section()
    table.add_row(f"Overall ({aggregation})", *map(_letter, comparison["overall"]), style="bold")
    if comparison["without"]:
        left_out = ", ".join(comparison["without"]["parts"])
        table.add_row(
            f"Overall without {escape(left_out)}", *map(_letter, comparison["without"]["overall"]), style="bold"
        )
    console.print(table)
    if any("?" in _letter(cell) for row in comparison["rows"] for cell in row["cells"]):
        console.print("A letter with a question mark is the likeliest one, and is not declared.")


def _letter(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ABSENT
    return "not measured" if cell["letter"] is None else cell["letter"] + ("" if cell["declared"] else "?")
