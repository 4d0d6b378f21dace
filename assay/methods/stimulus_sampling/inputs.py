"""Vectors of numbers as inputs of stimulus sampling, normally distributed within each value and side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le, MaxLen, MinLen

from assay.bounds import Bounded
from assay.errors import EvidenceError, SpecificationError, UnknownName
from assay.methods.shared.answers.tally import read_number
from assay.methods.shared.profiles import Cell
from assay.model import Floats, Record
from assay.statistics.bayes.surrogate import NormalPrior
from assay.statistics.intervals.both_sides import SIDES

Numbers = Annotated[tuple[float, ...], MaxLen(100)]

LEAST_ROWS = 5
"""Minimum number of rows to fit a normal distribution to."""

MOST_VALUES = 10
"""Maximum number of values of the attribute."""

LARGEST_NUMBER = 1e9
"""Largest absolute value of a number, so that squares and their sums stay far within the range of floats."""

NUMBERS_ALLOWED = f"numbers are finite and of size {LARGEST_NUMBER:g} at most"


@dataclass(frozen=True)
class VectorStimuli(Bounded):
    """Vectors of numbers; the attribute of each vector is known, and is not sent to the service.

    Parameters
    ----------
    names : tuple of str
        Names of the numbers, as they are sent.
    centres : mapping of str to tuple of float
        Mean vector of the group of each value of the attribute.
    sides : mapping of str to tuple of float
        The two sides of the content, each with the vector that it adds to the mean.
    sd : tuple of float
        Standard deviation of each number within a group and side.
    rows : tuple of mapping
        Instead of `centres`, `sides` and `sd`: rows with the numbers, the attribute and the side; a normal
        distribution is fitted to the rows of each value and side.
    column, side : str, optional
        Columns of the rows that hold the attribute and the side of the content.
    decimals : int
        Decimal places that are sent.
    """

    names: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(200)], ...], MinLen(1), MaxLen(100)]
    centres: Mapping[str, Numbers] = field(default_factory=dict)
    sides: Mapping[str, Numbers] = field(default_factory=dict)
    sd: Numbers = ()
    rows: Annotated[tuple[Mapping[str, Cell], ...], MaxLen(20_000)] = ()
    column: Annotated[str, MaxLen(200)] | None = None
    side: Annotated[str, MaxLen(200)] | None = None
    decimals: Annotated[int, Ge(0), Le(15)] = 6

    def __post_init__(self) -> None:
        """Raise an error if the fields do not describe a distribution of vectors."""
        super().__post_init__()
        if len(set(self.names)) < len(self.names):
            raise SpecificationError("each number needs a name of its own; a name is given twice", "vectors.names")
        if bool(self.rows) == bool(self.centres):
            raise SpecificationError("give either rows or centres with sides and sd", "vectors.rows")
        if self.rows:
            self._check_rows()
        else:
            self._check_centres()

    # ------------------------------------------------------------------------ checks
    def _check_centres(self) -> None:
        """Check that centres, sides and `sd` have a usable number for each of the `names`."""
        self._check_counts()
        for field_name, number_lists in (("centres", self.centres), ("sides", self.sides), ("sd", {"": self.sd})):
            for name, numbers in number_lists.items():
                path = f"vectors.{field_name}" + (f".{name}" if name else "")  # `sd` is one list, without a name
                if len(numbers) != len(self.names):
                    raise SpecificationError(f"{len(self.names)} numbers are needed, not {len(numbers)}", path)
                if not all(map(_is_finite, numbers)):
                    raise SpecificationError(NUMBERS_ALLOWED, path)
        if not all(number > 0 for number in self.sd):
            raise SpecificationError("a standard deviation must be positive", "vectors.sd")

    def _check_rows(self) -> None:
        if self.sides or self.sd:
            raise SpecificationError("sides and sd need centres; from rows they are computed", "vectors.sides")
        columns = tuple(self.rows[0])
        for name, field_name in ((self.column, "column"), (self.side, "side")):
            if name is None or name not in columns:
                raise UnknownName("column", str(name), columns, f"vectors.{field_name}")
        if self.column == self.side or {self.column, self.side} & set(self.names):
            raise SpecificationError("attribute, side and numbers must be different columns", "vectors.side")
        for index, row in enumerate(self.rows):
            if not all(_is_finite(row.get(name)) for name in self.names):
                raise SpecificationError(NUMBERS_ALLOWED, f"vectors.rows.{index}")
        self._check_counts()
        self._check_cells()

    def _check_counts(self) -> None:
        """Check the numbers of values and of sides, whether these are given by centres or by rows."""
        if not 2 <= len(self.values) <= MOST_VALUES:
            path = "vectors.centres" if self.centres else "vectors.column"
            raise SpecificationError(f"2 to {MOST_VALUES} groups are needed, not {len(self.values)}", path)
        if len(self.side_names) != SIDES:
            path = "vectors.sides" if self.centres else "vectors.side"
            raise SpecificationError(
                f"contents need two sides (pleasant, unpleasant), not {len(self.side_names)}", path
            )

    def _check_cells(self) -> None:
        """Check that a normal distribution can be fitted to the rows of each cell (value and side)."""
        for value in self.values:
            for side in self.side_names:
                cell_rows = self._rows_of_cell.get((value, side), [])
                count_text = f"{value} has {len(cell_rows)} rows of {side}"
                if len(cell_rows) < LEAST_ROWS:
                    raise SpecificationError(f"{count_text}; at least {LEAST_ROWS} rows are needed", "vectors.rows")
                if len(set(cell_rows)) < 2:
                    raise SpecificationError(f"{count_text}, all equal; at least two must differ", "vectors.rows")
                try:
                    NormalPrior.of(np.array(cell_rows))
                except EvidenceError as error:  # raised if the rows differ by less than the precision of floats
                    raise SpecificationError(f"{value}, {side}: {error}", "vectors.rows") from error

    # ------------------------------------------------------------------------ values, sides and priors
    @property
    def values(self) -> tuple[str, ...]:
        """Names of the attribute's values: in the order of `centres`, or sorted if they come from rows."""
        if self.centres:  # empty if the request has rows
            return tuple(self.centres)
        return tuple(sorted({value for value, _side in self._rows_of_cell}))

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names of the two sides of the content: in the order of `sides`, or sorted if they come from rows."""
        if self.sides:  # empty if the request has rows
            return tuple(self.sides)
        return tuple(sorted({side for _value, side in self._rows_of_cell}))

    @cached_property
    def priors(self) -> Mapping[tuple[int, int], NormalPrior]:
        """Normal distribution of vectors in each cell, by (index of value, index of side)."""
        return {
            (value_index, side_index): self._cell_prior(value, side)
            for value_index, value in enumerate(self.values)
            for side_index, side in enumerate(self.side_names)
        }

    def _cell_prior(self, value: str, side: str) -> NormalPrior:
        if not self.centres:
            return NormalPrior.of(np.array(self._rows_of_cell[value, side]))
        mean = np.array(self.centres[value], dtype=float) + np.array(self.sides[side], dtype=float)
        return NormalPrior(mean, np.diag(np.array(self.sd, dtype=float)))

    @cached_property
    def _rows_of_cell(self) -> Mapping[tuple[str, str], list[tuple[float, ...]]]:
        """Vectors (the numeric fields of each row) by (value, side) of their rows."""
        rows_of_cell: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        for row in self.rows:  # which `_check_rows` has checked: `or` is for the type checker only
            cell = (str(row.get(self.column or "")), str(row.get(self.side or "")))
            rows_of_cell.setdefault(cell, []).append(tuple(float(row[name] or 0) for name in self.names))
        return rows_of_cell

    def rounded(self, vectors: Floats) -> Floats:
        """Round vectors to the `decimals` that are sent."""
        return np.asarray(np.round(vectors, self.decimals))

    def record(self, vector: Floats) -> Record:
        """Return a vector as the record that is sent: pairs of name and number."""
        return tuple((name, float(number)) for name, number in zip(self.names, vector, strict=True))


def _is_finite(number: Cell) -> bool:
    """Return whether a table cell is a finite number of size `LARGEST_NUMBER` at most."""
    value = read_number(number)
    return value is not None and abs(value) <= LARGEST_NUMBER
