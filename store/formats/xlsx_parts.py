"""Parts of an xlsx file: the workbook, its shared texts and formats, and the cells of a sheet, parsed as a stream."""

import math
import posixpath
import re
import string
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from functools import cache
from operator import ge
from typing import Any, BinaryIO, NoReturn
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo

from assay.errors import SpecificationError
from assay.model import Field
from store.formats.columns import LARGEST_EXACT_INTEGER, NUMBER
from store.formats.refusal import Unreadable, shown

MOST_UNPACKED_BYTES = 512 << 20
"""Maximum unpacked size in bytes, as the file declares it, of a sheet, and of the texts that cells share."""

MOST_PART_BYTES = 32 << 20
"""Maximum unpacked size in bytes of parts of an xlsx file other than sheets and texts that cells share."""

PIECE_BYTES = 1 << 16

LONGEST_TEXT = 40_000
"""Number of characters of a cell after which the rest is not read; a cell in a spreadsheet has at most 32,767."""

MOST_COLUMNS, MOST_ROWS = 16_384, 1_048_576
"""Maximum number of columns and of rows of a sheet in the xlsx format."""

ELSEWHERE = "save the table as xlsx or CSV"

MOST_PIECES = 8
"""Number of pieces of a text, of up to 8 KiB each, after which the rest is not read."""

Row = tuple[int, list[int], list[Field]]
"""A row of a sheet: its number, from 1; the indices of its columns with a value, from 0; these values."""

Attributes = dict[str, str]

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.')
_BRACKETS = re.compile(r"\[[^\]]*\]")
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]")

BUILT_IN: Mapping[int, str] = {
    **dict.fromkeys((9, 10), "percent"),
    **dict.fromkeys((*range(14, 18), 22, *range(27, 37), *range(50, 59)), "date"),
    **dict.fromkeys((*range(18, 22), 45, 47), "time"),
    46: "elapsed",
}
"""What a cell's number means, such as a date, by the id of its built-in format (ECMA-376, part 1, 18.8.30)."""

TRUTH_VALUES = {"1": "TRUE", "true": "TRUE", "0": "FALSE", "false": "FALSE", "": None}
"""Truth values in cells, case folded, and the texts as which they are read."""


class Workbook:
    """A workbook: its sheets, in their order; raises `Unreadable` if the file is no xlsx workbook, or damaged."""

    def __init__(self, file: BinaryIO) -> None:
        with _translate_zip_errors():
            self._archive = ZipFile(file)
            self._infos = {info.filename.lstrip("/").casefold(): info for info in self._archive.infolist()}
            workbook_parts = (part for kind, part in self._related_parts("").values() if kind == "officeDocument")
            workbook_part = next(workbook_parts, "xl/workbook.xml")
            # .bin: the binary format xlsb
            if workbook_part.casefold().endswith(".bin") or workbook_part.casefold() not in self._infos:
                raise Unreadable(f"this is a ZIP archive, and no xlsx workbook; {ELSEWHERE}")
            self._read_workbook(workbook_part)

    def _read_workbook(self, workbook_part: str) -> None:
        """Read the calendar (of 1900 or 1904), formats and list of sheets; cells and shared texts are read later."""
        kind_and_part_by_id = self._related_parts(workbook_part)
        part_by_kind = dict(kind_and_part_by_id.values())
        elements = self._elements_of_part(workbook_part)
        sheets = [attributes for name, attributes in elements if name == "sheet"]
        properties = next((attributes for name, attributes in elements if name == "workbookPr"), {})
        calculation = next((attributes for name, attributes in elements if name == "calcPr"), {})
        self.from_1904 = _is_true(properties.get("date1904"))
        self.recalculated = _is_true(calculation.get("fullCalcOnLoad"))
        """Whether programs must compute all formulas when they open the file; the values in it are not used then."""
        self.formats = self._formats_by_style(part_by_kind.get("styles"))
        self._texts: list[str | None] | None = None
        self._text_part = part_by_kind.get("sharedStrings")
        self.sheets = []
        for attributes in sheets:
            relation_id = next((value for name, value in attributes.items() if _local_name(name) == "id"), "")
            kind, part = kind_and_part_by_id.get(relation_id, ("", ""))
            if kind == "worksheet":
                self.sheets.append(Sheet(self, attributes.get("name", ""), part))
        if not self.sheets:
            raise Unreadable(f"this is no workbook with sheets of cells; {ELSEWHERE}")

    @property
    def texts(self) -> list[str | None]:
        """Texts that cells refer to by their index, ``None`` for empty texts; they are read at the first use."""
        if self._texts is None:
            texts = () if self._text_part is None else self._shared_texts(self._text_part)
            self._texts = [text or None for text in texts]
        return self._texts

    def pieces(self, part: str, limit: int = MOST_PART_BYTES) -> Iterator[bytes]:
        """Yield a part of the archive in pieces; raise `Unreadable` if it is larger than `limit` when unpacked."""
        info = self._info_of_part(part)
        if info.file_size > limit:
            problem = f"{shown(part)} of the xlsx file unpacks to {info.file_size:,} bytes; at most {limit:,} are read"
            raise Unreadable(f"{problem}: split the table")
        with self._archive.open(info) as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece

    def _info_of_part(self, part: str) -> ZipInfo:
        info = self._infos.get(part.casefold())
        if info is None:
            raise Unreadable(f"this xlsx file is damaged: its part {shown(part)} is missing; {ELSEWHERE}")
        return info

    def _elements_of_part(self, part: str) -> list[tuple[str, Attributes]]:
        """Return the elements of a small part in their order: local name and attributes."""
        elements: list[tuple[str, Attributes]] = []
        parser = new_parser(lambda name, attributes: elements.append((_local_name(name), attributes)))
        for piece in self.pieces(part):
            parser.Parse(piece)
        parser.Parse(b"", True)
        return elements

    def _related_parts(self, part: str) -> dict[str, tuple[str, str]]:
        """Return (kind, name) of each part of the archive to which `part` refers, by the id of the relation."""
        folder, file_name = posixpath.split(part)
        relations_part = posixpath.join(folder, "_rels", f"{file_name}.rels")
        if relations_part.casefold() not in self._infos:
            return {}
        return {
            attributes.get("Id", ""): (
                attributes.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", ""))).lstrip("/"),
            )
            for element_name, attributes in self._elements_of_part(relations_part)
            if element_name == "Relationship" and attributes.get("TargetMode") != "External"
        }

    def _formats_by_style(self, part: str | None) -> dict[str, str]:
        """Return the meaning of numbers (percent, date …) by cell style; styles of plain numbers are left out."""
        if part is None or part.casefold() not in self._infos:
            return {}
        by_format, meaning_by_style = dict(BUILT_IN), dict[str, str]()
        section, style_index = "", 0
        for name, attributes in self._elements_of_part(part):
            if name == "numFmt" and section != "dxfs":  # dxfs: formats under a condition, not of cells
                by_format[_parse_integer(attributes.get("numFmtId"))] = meaning_of(attributes.get("formatCode", ""))
            elif name in {"cellXfs", "cellStyleXfs", "cellStyles", "dxfs"}:
                section = name
            elif name == "xf" and section == "cellXfs":
                if meaning := by_format.get(_parse_integer(attributes.get("numFmtId"))):
                    meaning_by_style[str(style_index)] = meaning
                style_index += 1
        return meaning_by_style

    def _shared_texts(self, part: str) -> Iterator[str]:
        """Yield the texts to which cells refer by their index; the pronunciation of Japanese texts is left out."""
        complete_texts: list[str] = []
        text, is_in_text, is_phonetic = "", False, False

        def start_element(name: str, _: Attributes) -> None:
            nonlocal text, is_in_text, is_phonetic
            local_name = _local_name(name)
            if local_name == "si":  # a shared text
                text = ""
            is_phonetic = is_phonetic or local_name == "rPh"  # its pronunciation
            is_in_text = local_name == "t" and not is_phonetic  # t: characters of either

        def end_element(name: str) -> None:
            nonlocal is_in_text, is_phonetic
            local_name = _local_name(name)
            is_in_text = False
            if local_name == "si":  # a shared text
                complete_texts.append(unescape(text))
            elif local_name == "rPh":  # a pronunciation
                is_phonetic = False

        def add_characters(characters: str) -> None:
            nonlocal text
            if is_in_text and len(text) < LONGEST_TEXT:
                text += characters

        parser = new_parser(start_element, end_element, add_characters)
        for piece in self.pieces(part, MOST_UNPACKED_BYTES):
            parser.Parse(piece)
            yield from complete_texts
            complete_texts.clear()
        parser.Parse(b"", True)
        yield from complete_texts


class Sheet:
    """A sheet of a workbook; its attributes, except `name`, are complete when all `rows` were read."""

    def __init__(self, workbook: Workbook, name: str, part: str) -> None:
        self.name, self._workbook, self._part = name, workbook, part
        self._begin_sheet()

    def _begin_sheet(self) -> None:
        """Set the attributes to their values before the first row."""
        self.faults: dict[int, tuple[int | None, str]] = {}
        """By row, the first cell (index of its column, or ``None`` for the row) that cannot be read, and the reason."""
        self.merged: list[tuple[str, tuple[int, int, int, int]]] = []
        """Merged ranges: reference, and (first row, last row, first column, last column)."""
        self.formulas = 0
        """Number of cells whose value a formula computed."""
        self.percentages: set[int] = set()
        self.hidden_columns: set[int] = set()
        """Indices of columns: in `percentages`, those that hold percentages; in `hidden_columns`, hidden ones."""
        self._row_number, self._row_is_hidden = 0, False

    def rows(self) -> Iterator[Row]:
        """Yield each row that has values; the attributes of the sheet are reset first."""
        self._begin_sheet()
        complete_rows: list[Row] = []
        pieces: list[str] = []  # of the current cell's text
        with _translate_zip_errors():
            # the first element, the root, sets the handlers: its namespace prefix is that of all names
            parser = new_parser(lambda root, _: self._set_handlers(parser, root, complete_rows, pieces))
            for xml_bytes in self._workbook.pieces(self._part, MOST_UNPACKED_BYTES):
                parser.Parse(xml_bytes)
                yield from complete_rows
                complete_rows.clear()
                del pieces[MOST_PIECES:]  # the cell is refused as too long when it ends
            parser.Parse(b"", True)
            yield from complete_rows

    def _set_handlers(self, parser: expat.XMLParserType, root_name: str, rows: list[Row], pieces: list[str]) -> None:  # noqa: C901  handlers that share what they collect
        """Set handlers that fill `rows` and a text's `pieces`: closures are fast, and a sheet has millions of cells."""
        prefix = root_name[: root_name.index(":") + 1] if ":" in root_name else ""
        cell_name, row_name, formula_name, phonetic_name = (prefix + name for name in ("c", "row", "f", "rPh"))
        content_names = (f"{prefix}v", f"{prefix}t")  # a value, and a text
        other_handlers = {prefix + "mergeCell": self._note_merged, prefix + "col": self._note_hidden}
        cell: Attributes = {}
        text: str | None = None
        columns: list[int] = []
        values: list[Field] = []
        has_formula, is_phonetic, column, row_digits = False, False, 0, 0
        texts = self._workbook.texts

        def start(name: str, attributes: Attributes) -> None:
            """Begin an element: a row, a cell, or a part of a cell (its value, text, formula or pronunciation)."""
            nonlocal cell, text, has_formula, is_phonetic, columns, values, column, row_digits
            if name in content_names:  # the value or text of the cell
                pieces.clear()
            elif name == cell_name:
                cell, text, has_formula = attributes, None, False
            elif name == row_name:
                columns, values, column, row_digits = [], [], -1, self._begin_row(attributes)
            elif name == formula_name:
                has_formula = True
            elif name == phonetic_name:  # the pronunciation of a text
                is_phonetic = True
            elif name in other_handlers:  # merged cells and hidden columns
                other_handlers[name](attributes)

        def end(name: str) -> None:
            """End an element: add a cell's value to `values` of its row, or a row with values to `rows`."""
            nonlocal text, is_phonetic, column
            if name in content_names:  # the value or text of the cell
                if not is_phonetic:
                    text = (text or "") + "".join(pieces)
            elif name == cell_name:
                column = _index_of(cell["r"][:-row_digits]) if "r" in cell else column + 1  # "B12": column B
                if text is not None or has_formula:
                    is_shared = not has_formula and cell.get("t") == "s"  # the text is then an index of `texts`
                    if is_shared and (text or "").strip().startswith("-"):
                        raise LookupError(text)  # a list would count a negative index from its end
                    value = texts[int(text or "")] if is_shared else self._parse_value(cell, text, column, has_formula)
                    if value is not None:
                        columns.append(column)
                        values.append(value)
            elif name == row_name:
                if values:
                    self._check_row(columns)
                    rows.append((self._row_number, columns, values))
            elif name == phonetic_name:
                is_phonetic = False

        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, pieces.append

    # ------------------------------------------------------------------------ rows and cells
    def _begin_row(self, attributes: Attributes) -> int:
        """Begin a row; return how many digits its row number has, so that ``B12`` can be split into column and row."""
        number = _parse_integer(attributes["r"]) if "r" in attributes else self._row_number + 1
        if not self._row_number < number <= MOST_ROWS:
            _refuse_damaged(f"row {number} comes after row {self._row_number}")
        self._row_number, self._row_is_hidden = number, _is_true(attributes.get("hidden"))
        return len(str(number))

    def _check_row(self, columns: Sequence[int]) -> None:
        """Refuse a row whose cells (with these column indices) are not in order; note a fault for a hidden row."""
        if any(map(ge, columns, columns[1:])) or columns[-1] >= MOST_COLUMNS:
            _refuse_damaged(f"the cells of row {self._row_number} are not in their order")
        if self._row_is_hidden:
            message = "this row is hidden; show all rows, or delete the hidden ones"
            self.faults.setdefault(self._row_number, (None, message))

    def _parse_value(self, cell: Attributes, text: str | None, column: int, has_formula: bool) -> Field:
        """Return the value of a cell: ``None`` if it is empty, an empty text if it cannot be read (see `faults`)."""
        cell_type = cell.get("t", "n")
        if has_formula:
            self.formulas += 1
            if self._workbook.recalculated or text is None or (not text and cell_type == "n"):  # no value that counts
                problem = "the value of this formula was never computed"
                return self._note_fault(column, f"{problem}; open the file in a spreadsheet program, and save it")
        try:
            if cell_type == "n":
                return self._parse_number(text, column, cell.get("s")) if text else None
        except (ValueError, OverflowError) as error:
            return self._note_fault(column, str(error))
        return self._parse_other_type(cell_type, text or "", column)

    def _note_fault(self, column: int, message: str) -> str:
        """Note why a cell cannot be read, unless its row has a fault already; return an empty text as its value."""
        self.faults.setdefault(self._row_number, (column, message))
        return ""

    def _parse_other_type(self, cell_type: str, text: str, column: int) -> Field:
        """Return the value of a cell that is no number: a text, a truth value, a date or an error."""
        if cell_type in {"str", "inlineStr"}:
            return unescape(text) or None
        if cell_type == "b":
            if (value := text.strip().casefold()) in TRUTH_VALUES:
                return TRUTH_VALUES[value]
            return self._note_fault(column, f"{shown(text)} is no truth value; write TRUE or FALSE")
        if cell_type == "d":
            return text.removesuffix("T00:00:00") or None
        if cell_type == "e":
            return self._note_fault(column, f"the cell holds the error {text[:20]}; correct it, or leave it empty")
        return self._note_fault(column, f"the cell has the unknown type {shown(cell_type)}")

    def _parse_number(self, text: str, column: int, style: str | None) -> Field:
        """Return a number, or the text of a date or time if the style of the cell is a format of dates or times."""
        number = float(text) if NUMBER.fullmatch(text.strip()) else math.nan  # `float` would also read 1_000
        if style is not None and (meaning := self._workbook.formats.get(style)):
            if meaning != "percent":
                return moment(number, meaning, from_1904=self._workbook.from_1904)
            self.percentages.add(column)
        if not math.isfinite(number):
            raise ValueError(f"{shown(text)} is not a number")
        return int(number) if number.is_integer() and abs(number) < LARGEST_EXACT_INTEGER else number

    def _note_hidden(self, attributes: Attributes) -> None:
        if _is_true(attributes.get("hidden")):
            start, stop = (min(_parse_integer(attributes.get(key)), MOST_COLUMNS) for key in ("min", "max"))
            self.hidden_columns.update(range(start - 1, stop))

    def _note_merged(self, attributes: Attributes) -> None:
        """Note a merged range, such as ``B2:C4``, unless it is a single cell."""
        reference = attributes.get("ref", "")
        first_cell, _, last_cell = reference.partition(":")
        corners = [_REFERENCE.fullmatch(corner) for corner in (first_cell, last_cell or first_cell)]
        if corners[0] is None or corners[1] is None:
            _refuse_damaged(f"{shown(reference)} is no range of cells")
        (first_column, first_row), (last_column, last_row) = (
            (_index_of(corner[1]), int(corner[2])) for corner in corners if corner is not None
        )
        if (first_column, first_row) != (last_column, last_row):
            self.merged.append((reference, (first_row, last_row, first_column, last_column)))


# ---------------------------------------------------------------------------- texts, numbers and dates
def unescape(text: str) -> str:
    """Return a text without the escapes of xlsx, such as ``_x000D_``; raise `Unreadable` for the character NUL."""
    if "_x" in text:
        text = _ESCAPED.sub(_unescape_character, text)
    if "\0" in text:
        raise Unreadable("a cell contains the character NUL")
    return text


def _unescape_character(escape: re.Match[str]) -> str:
    code_point = int(escape[1], 16)
    return escape[0] if 0xD800 <= code_point < 0xE000 else chr(code_point)


def meaning_of(format_code: str) -> str:
    """Return what a number with this format code means: percent, date, time, elapsed, or empty for a plain number."""
    section = _LITERAL.sub("", format_code).partition(";")[0].casefold()  # the format of positive numbers
    if _ELAPSED.search(section):  # such as [h]
        return "elapsed"
    section = _BRACKETS.sub("", section).replace("general", "")
    if "%" in section:
        return "percent"
    has_time = re.search("[hs]", section) is not None
    has_m = "m" in section.replace("am/pm", "").replace("a/p", "")  # minutes next to hours or seconds, else months
    if re.search("[dy]", section) or (has_m and not has_time):
        return "date"
    return "time" if has_time else ""


def moment(serial: float, meaning: str, *, from_1904: bool) -> str:
    """Convert a number of days (`serial`) to a date, a time or an elapsed time (`meaning`) in ISO 8601.

    Day 1 is 1 January 1900, and day 60 is 29 February 1900, which never was; with `from_1904`, day 0 is 1 January 1904.

    Raise `ValueError` if there is no such day.
    """
    if not 0 <= serial < 2_958_466:  # 1 January 10000
        raise ValueError(f"{serial:g} is not a date")
    if meaning == "elapsed":
        seconds = round(serial * 86_400)
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if meaning == "time" and serial < 1:
        minutes, second = divmod(min(round(serial * 86_400), 86_399), 60)  # at most 23:59:59
        return time(minutes // 60, minutes % 60, second).isoformat()
    if not from_1904 and (serial < 1 or 60 <= serial < 61):
        raise ValueError(f"day {serial:g} of the calendar from 1900 never was")
    day_0 = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 31 if serial < 60 else 30)  # noqa: DTZ001  no zone
    date_time = day_0 + timedelta(days=int(serial), seconds=round((serial - int(serial)) * 86_400))
    return date_time.date().isoformat() if date_time.time() == time() else date_time.isoformat()


def column_letters(index: int) -> str:
    """Return the letters of a column: A for 0, AA for 26."""
    letters = ""
    while index >= 0:
        index, remainder = divmod(index, 26)
        letters, index = string.ascii_uppercase[remainder] + letters, index - 1  # AA follows Z: A counts as 1
    return letters


@cache  # a sheet has millions of cells
def _index_of(letters: str) -> int:
    """Return the index of a column by its letters: 0 for A, 26 for AA."""
    index = 0
    for letter in letters:
        index = 26 * index + string.ascii_uppercase.find(letter) + 1
    if not 0 < index <= MOST_COLUMNS or not (letters.isascii() and letters.isupper()):
        _refuse_damaged(f"{shown(letters)} is no column")
    return index - 1


def _parse_integer(text: str | None) -> int:
    if text is None or not (text.isascii() and text.isdigit() and len(text) <= 9):
        _refuse_damaged(f"{shown(text or '')} is no number of a row, a column or a format")
    return int(text)


def _local_name(name: str) -> str:
    """Return the name of an element or attribute without its prefix."""
    return name.rpartition(":")[2]


def _is_true(text: str | None) -> bool:
    return text in {"1", "true", "on"}


# ---------------------------------------------------------------------------- XML and damage
def new_parser(
    start: Callable[[str, Attributes], Any],
    end: Callable[[str], Any] | None = None,
    text: Callable[[str], Any] | None = None,
) -> expat.XMLParserType:
    """Return a parser that refuses a document type declaration, which could define entities."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = lambda *_: _refuse_damaged("it declares a document type")
    return parser


def _refuse_damaged(detail: str) -> NoReturn:
    raise Unreadable(f"this xlsx file is damaged: {detail}; {ELSEWHERE}")


DAMAGE = (expat.ExpatError, zlib.error, EOFError, LookupError, ValueError, NotImplementedError, RuntimeError, OSError)


@contextmanager
def _translate_zip_errors() -> Iterator[None]:
    """Raise `Unreadable` for the errors of an archive or its XML."""
    try:
        yield
    except BadZipFile:
        raise Unreadable(f"this is not an xlsx file, or it is damaged; {ELSEWHERE}") from None
    except SpecificationError:  # a `ValueError`, and already with its message
        raise
    except DAMAGE as error:
        _refuse_damaged(f"its parts do not fit together ({type(error).__name__})")
