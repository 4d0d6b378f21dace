"""Encoding of records of public tables as numbers, and the error for missing data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from assay.model import Field
from demo.interfaces.libretranslate import BadRequest
from demo.predictors.prediction import Floats, Row


class DataAbsent(RuntimeError):
    """A file of public data is missing."""


def needed(path: Path) -> Path:
    """Return the path of an existing file; raise an error if it is missing.

    Raises
    ------
    DataAbsent
        If the file is missing; the message names the path.
    """
    if not path.is_file():
        raise DataAbsent(f"no file {path}; the public data lie in shared/data beside the checkout")
    return path


@dataclass(frozen=True)
class Codebook:
    """Encoding of records: categories by their index in alphabetical order, numbers unchanged.

    Attributes
    ----------
    columns : tuple of str
        Columns, in the order of the encoded records.
    categories : mapping of str to tuple of str
        Categories of each text column, in alphabetical order; the other columns hold numbers.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, rows: Sequence[Row], columns: tuple[str, ...]) -> Codebook:
        """Collect the categories of all columns of text."""
        texts = [column for column in columns if isinstance(rows[0][column], str)]
        return cls(columns, {column: tuple(sorted({str(row[column]) for row in rows})) for column in texts})

    @cached_property
    def _places(self) -> dict[str, dict[Field, int]]:
        return {column: {name: place for place, name in enumerate(names)} for column, names in self.categories.items()}

    def coded(self, rows: Sequence[Row]) -> Floats:
        """Encode records, shape (records, columns).

        Raises
        ------
        BadRequest
            If a cell is no number or no known category; the message lists the known categories.
        """
        return np.array([[self._code(column, row[column]) for column in self.columns] for row in rows], dtype=float)

    def _code(self, column: str, cell: Field) -> float:
        if column in self.categories:
            if not isinstance(cell, str) or cell not in self._places[column]:
                raise BadRequest(f"{column} must be one of {', '.join(self.categories[column])}; not {cell!r:.100}")
            return self._places[column][cell]
        if isinstance(cell, bool) or not isinstance(cell, int | float) or not math.isfinite(cell):
            raise BadRequest(f"{column} must be a number, not {cell!r:.100}")
        return cell
