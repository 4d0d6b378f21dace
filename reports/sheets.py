"""Tables from lists of a rating document: a column for each field of its objects.

A method describes such a table as a `Sheet`, in its `Wording`; `reports.charts` does the same for figures.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Self

from assay.document import ComponentDocument, Json
from reports import cells
from reports.view import BALANCED, Steps, Table

MOST_ROWS = 60
"""Maximum number of rows of a table in a report; the JSON has all."""

EVENLY = " ({} of {:,} shown, at even steps; the JSON and the CSV export have all)"


@dataclass(frozen=True)
class Sheet:
    """Description of a table with a row for each object of a list in a component's document."""

    key: str
    """Name of the component's field that holds the list."""
    title: str
    """Title of the table."""
    columns: Mapping[str, str]
    """For each column head, the field of the objects that the column shows; an empty column is left out."""

    def of(self, part: ComponentDocument) -> Table | None:
        """Return the table of the list in the component's field `key`; ``None`` if it would be empty."""
        return self.of_rows(getattr(part, self.key))

    def of_rows(self, rows: Sequence[Any]) -> Table | None:
        """Return the table of the first `MOST_ROWS` rows; ``None`` if it would be empty."""
        first_rows = rows[:MOST_ROWS]
        columns = {
            head: cells.column(key, [getattr(row, key) for row in first_rows]) for head, key in self.columns.items()
        }
        filled_columns = cells.filled(columns)
        if not first_rows or not filled_columns:
            return None
        return Table.of_columns(self.title + shown_suffix(first_rows, rows), filled_columns)


@dataclass(frozen=True)
class Wording:
    """Words of a method's report, from the TOML file of the method in `reports.methods`."""

    steps: Steps
    """Names of the input in step 1 and in step 2."""
    letters: Mapping[str, str]
    """Meaning of each letter for a service."""
    sheets: Mapping[str, Sheet]
    """Tables of the report, by name of the component's field with the list that they show."""
    sentences: Json
    """The other sections of the TOML file: templates of sentences, by the section's name."""

    @classmethod
    def read(cls, method: str) -> Self:
        """Read the words of a method from its TOML file, such as ``outcomes.toml`` for the method ``outcomes``."""
        toml_tables = tomllib.loads(files("reports.methods").joinpath(f"{method}.toml").read_text("utf-8"))
        first_input, second_input = toml_tables.pop("steps", BALANCED)
        sheets = {key: Sheet(key, **sheet) for key, sheet in toml_tables.pop("sheets", {}).items()}
        return cls((first_input, second_input), toml_tables.pop("letters"), sheets, sentences=toml_tables)


def sampled_table(sheet: Sheet, rows: Sequence[Any], maximum: int) -> Table | None:
    """Return a table of at most `maximum` rows, at even steps over the list."""
    sample = evenly(rows, maximum)
    table = sheet.of_rows(sample)
    if table is None:
        return None
    return Table(table.title + shown_suffix(sample, rows, EVENLY), table.columns, table.rows)


def evenly(rows: Sequence[Any], maximum: int) -> list[Any]:
    """Return at most `maximum` rows, taken at even steps from the whole list."""
    return [rows[index * len(rows) // maximum] for index in range(maximum)] if len(rows) > maximum else list(rows)


def shown_suffix(sample: Sequence[Any], rows: Sequence[Any], template: str = " ({} of {:,} shown)") -> str:
    """Return a suffix for a title, such as " (20 of 1,000 shown)"; empty if all rows are shown."""
    return template.format(len(sample), len(rows)) if len(sample) < len(rows) else ""
