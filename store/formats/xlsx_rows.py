"""Spreadsheets (xlsx): a header, and rows of one sheet, read as a stream by the standard library.

A workbook is a ZIP archive of XML. Libraries for it hide what must not be guessed: whether a value of a formula was
ever computed, which rows are hidden, which cells hold errors (docs/decisions/0136-spreadsheets.md).
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from assay.errors import UnknownName
from assay.methods.shared.outcome_tables.decision_table import as_text
from assay.model import Field
from store.formats.csv_rows import LONGEST_CELL, LONGEST_NAME, MOST_ROWS, SUSPICIOUS, check_names, is_formula
from store.formats.refusal import Unreadable, shown
from store.formats.xlsx_parts import Sheet, Workbook, column_letters

MAX_NAMED_SHEETS = 10
"""Maximum number of sheets that an error names."""


class XlsxRows:
    """The rows of a sheet: the sheet named `sheet_name`, or the only sheet that has cells.

    Empty rows above and directly below the header are skipped. A first column that has no name and counts the rows, as
    data frames write it, is left out.

    `columns` are the names in the first row that has cells, without blanks around them and in Unicode form NFC; `sheet`
    is the name of the sheet. `Unreadable` is raised on construction for an invalid file or header, during iteration for
    an invalid row; `UnknownName` if no sheet has the name.
    """

    def __init__(self, file: BinaryIO, sheet_name: str | None = None) -> None:
        workbook = Workbook(file)
        self._other_sheet_count = len(workbook.sheets) - 1
        self._sheet = _sheet_named(workbook, sheet_name) if sheet_name else _only_sheet(workbook)
        self.sheet = self._sheet.name
        self._rows = self._sheet.rows()
        self._header_line, indices, cells = next(self._rows, (0, [], []))
        if not cells:
            raise Unreadable("the sheet is empty; its first row must name the columns")
        self._check_faults(self._header_line, names={})  # without names yet
        names = {index: unicodedata.normalize("NFC", as_text(cell)) for index, cell in zip(indices, cells, strict=True)}
        named_indices = [index for index, name in names.items() if name]
        self._position_of_index = {index: position for position, index in enumerate(named_indices)}  # in `columns`
        self.columns = tuple(names[index] for index in self._position_of_index)
        if not self.columns:
            remedy = f"write a name of 1 to {LONGEST_NAME} characters above each column"
            raise Unreadable(f"the header row names no column; {remedy}", line=self._header_line)
        check_names(self.columns)
        if formula := next((name for name in self.columns if is_formula(name)), None):
            raise Unreadable(f"{shown(formula)} is a spreadsheet formula; rename the column", line=self._header_line)
        self._count_start: Field = None  # the first row number, if the first column counts the rows

    def __iter__(self) -> Iterator[tuple[int, list[Field]]]:
        """Yield the number of each row in the sheet, and its cells: texts, integers and numbers."""
        last_line, row_count, faults = 0, 0, self._sheet.faults
        names = dict(zip(self._position_of_index, self.columns, strict=True))
        all_indices = list(self._position_of_index)
        for line, indices, cells in self._rows:
            if faults:
                self._check_faults(line, names)
            if last_line and line != last_line + 1:
                raise Unreadable("rows go on below an empty row; remove it, or what is not of the table", line=line)
            last_line, row_count = line, row_count + 1
            if row_count > MOST_ROWS:
                raise Unreadable(f"more than {MOST_ROWS:,} rows; send a random part of them", line=line)
            is_complete = indices == all_indices and self._count_start is None  # no cell is empty or left out
            row = cells if is_complete else self._place_cells(indices, cells, line, row_count)
            for cell in row:
                if isinstance(cell, str) and (len(cell) > LONGEST_CELL or cell[0] in SUSPICIOUS):  # texts are not empty
                    self._refuse_text(row, line)
            if tuple(row) == self.columns:
                raise Unreadable("repeats the header; send tables one by one, or join them without it", line=line)
            yield line, row
        self._refuse_merged(last_line)

    def notes(self) -> Iterator[str]:
        """Yield sentences about the conversion of the sheet; they are complete after all rows were read."""
        if self._other_sheet_count:
            yield f"the sheet {shown(self.sheet)} was read, and no other"
        if self._count_start is not None:
            yield "the first column, which has no name and counts the rows, was left out"
        if self._sheet.formulas:
            yield f"the values of {self._sheet.formulas:,} formulas are those that were last computed"
        for index, position in self._position_of_index.items():
            name = shown(self.columns[position])
            if index in self._sheet.percentages:
                yield f"column {name}: a percentage is read as a number, 50 % as 0.5"
            if index in self._sheet.hidden_columns:
                yield f"column {name}: it is hidden in the spreadsheet, and was read"

    def _place_cells(self, indices: Sequence[int], cells: Sequence[Field], line: int, row_count: int) -> list[Field]:
        """Return the cells of a row at the positions of the named columns, ``None`` where a cell is empty."""
        row: list[Field] = [None] * len(self.columns)
        for index, cell in zip(indices, cells, strict=True):
            position = self._position_of_index.get(index)
            if position is None:
                self._check_unnamed_cell(index, cell, line, row_count)
            else:
                row[position] = cell
        if self._count_start is not None and indices[0] != 0:
            self._check_unnamed_cell(0, None, line, row_count)  # the row number is missing
        return row

    def _refuse_text(self, row: Sequence[Field], line: int) -> None:
        """Raise `Unreadable` for a text that is too long, or a formula."""
        for name, cell in zip(self.columns, row, strict=True):
            if isinstance(cell, str) and len(cell) > LONGEST_CELL:
                raise Unreadable(f"a cell of more than {LONGEST_CELL:,} characters", line=line, column=name)
            if isinstance(cell, str) and is_formula(cell):
                message = f"{shown(cell)} is a spreadsheet formula as text; write text that does not start with ="
                raise Unreadable(message, line=line, column=name)

    def _check_unnamed_cell(self, index: int, cell: Field, line: int, row_count: int) -> None:
        """Raise `Unreadable` for a cell below no column name, unless it is a row number in the first column."""
        if index == 0 and row_count == 1 and cell in {0, 1}:
            self._count_start = cell
        if index != 0 or self._count_start is None or cell != int(self._count_start) + row_count - 1:
            message = f"the cell {column_letters(index)}{line} has no name above it in row {self._header_line}"
            raise Unreadable(f"{message}; name its column, or remove it", line=line)

    def _check_faults(self, line: int, names: dict[int, str]) -> None:
        """Raise `Unreadable` if a row has a fault, such as the error of a formula; `names`: columns' names by index."""
        fault = self._sheet.faults.get(line)
        if fault is not None:
            index, message = fault
            name = None if index is None else names.get(index, column_letters(index))
            raise Unreadable(message, line=line, column=name)

    def _refuse_merged(self, last_line: int) -> None:
        """Raise `Unreadable` if cells of the table are merged: only the first of them has a value."""
        for reference, (first_row, last_row, first_column, last_column) in self._sheet.merged:
            is_in_table = any(first_column <= index <= last_column for index in self._position_of_index)
            if is_in_table and first_row <= last_line and last_row >= self._header_line:
                message = f"the cells {reference} are merged; unmerge them, and fill each"
                raise Unreadable(message, line=max(first_row, self._header_line))


def _sheet_named(workbook: Workbook, name: str) -> Sheet:
    for sheet in workbook.sheets:
        if sheet.name == name:
            return sheet
    raise UnknownName("sheet of the file", name, tuple(sheet.name for sheet in workbook.sheets), "sheet")


def _only_sheet(workbook: Workbook) -> Sheet:
    """Return the only sheet that has cells; raise `Unreadable` for several of them."""
    filled_sheets = [sheet for sheet in workbook.sheets if next(sheet.rows(), None) is not None]
    if len(filled_sheets) > 1:
        names = ", ".join(shown(sheet.name) for sheet in filled_sheets[:MAX_NAMED_SHEETS])
        sheet_count = len(filled_sheets)
        remainder = f" and {sheet_count - MAX_NAMED_SHEETS} more" if sheet_count > MAX_NAMED_SHEETS else ""
        raise Unreadable(f"{sheet_count} sheets have cells: {names}{remainder}; state which one: sheet=NAME")
    return filled_sheets[0] if filled_sheets else workbook.sheets[0]
