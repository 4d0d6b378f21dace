"""CSV parser: a header, and rows as long as the header, in the forms that spreadsheets and data frames write.

The encoding, the separator and the use of blanks are recognised from a sample of the file.
"""

import codecs
import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import BinaryIO

from assay.bounds import invisible_in
from store.formats.columns import NUMBER
from store.formats.refusal import Unreadable, shown

LONGEST_LINE_BYTES = 4 << 20

SAMPLE_BYTES = 1 << 16
"""Number of bytes at the beginning of a file from which its separator and its use of blanks are recognised."""

SAMPLE_LINES = 200
"""Maximum number of lines from which the separator is recognised."""

SEPARATORS = ";\t|,"
"""Separators, in order of preference. The comma is last: semicolons are used where it is the decimal sign."""

BYTE_ORDER_MARK = "\ufeff"

ENCODINGS = frozenset(
    {"utf-8", "utf-16", "latin-1", "gb18030", "gbk", "big5", "shift-jis", "cp932", "euc-kr", "cp949", "koi8-r"}
    | {"mac-roman", *(f"cp{number}" for number in (437, 850, 852, 866, 874, *range(1250, 1259)))}
    | {f"iso8859-{number}" for number in range(2, 17) if number != 12}
)
"""Encodings that a caller may name."""

LONGEST_ENCODING = 40

SIGNATURES = {
    b"PK\x03\x04": "a ZIP archive (a spreadsheet or npz); send a spreadsheet as xlsx, or save it as CSV",
    b"PAR1": "Parquet; send it as application/vnd.apache.parquet",
    b"\xd0\xcf\x11\xe0": "an old or encrypted spreadsheet; save it as xlsx without a password, or as CSV",
    b"%PDF": "PDF; save the table as CSV",
    b"\x1f\x8b": "compressed; send it unpacked",
}
"""First bytes of files in other formats, each with the format and what the sender can do instead."""

_MARKUP = re.compile(
    rb"\s*(?:<(?P<html>!doctype\s+html|html|head|body)|<(?P<xml>\?xml)|(?P<json>\{\s*\"|\[\s*[\[{]))", re.IGNORECASE
)
_SEP_LINE = re.compile(r"sep=([;\t|,])\s*")
_BLANK_BEFORE_QUOTE = re.compile(r'[;\t|,][ ]+"')


@dataclass(frozen=True)
class Dialect:
    """Form of a CSV file, as its beginning shows it."""

    encoding: str
    """Name of the encoding, one of `ENCODINGS`."""
    separator: str
    """Character between the cells of a row."""
    skips_blanks: bool
    """Whether blanks between a separator and a quoted cell are skipped."""
    has_separator_line: bool
    """Whether the first line is ``sep=…``, which names the separator instead of the columns."""
    line_end: str
    """Last character of a line: a line feed, or a carriage return in a file without line feeds (Macintosh)."""


def encoding_named(name: str) -> str:
    """Return an encoding's name in `ENCODINGS`; raise `Unreadable` for an encoding that is unknown or not accepted.

    `codecs.lookup` is not called, because it remembers every unknown name.
    """
    alias = normalize_encoding(name[:LONGEST_ENCODING]).lower()
    python_name = aliases.get(alias, alias).replace("_", "-")
    python_name = "utf-8" if python_name in {"ascii", "utf-8-sig"} else python_name
    if python_name not in ENCODINGS or len(name) > LONGEST_ENCODING:
        raise Unreadable(f"the encoding {shown(name)} is not accepted; name one such as utf-8 or windows-1252")
    return python_name


def recognise(file: BinaryIO, encoding: str | None = None) -> Dialect:
    """Recognise the form of a CSV file by its beginning; the position in the file does not change.

    Raise `Unreadable` if the file has another format, such as a spreadsheet or a web page.
    """
    sample = refuse_other_formats(file)
    if markup := _MARKUP.match(sample.removeprefix(codecs.BOM_UTF8)):
        raise Unreadable(f"this is {str(markup.lastgroup).upper()}; send the table itself as CSV")
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif sample.startswith(codecs.BOM_UTF8):
        encoding = "utf-8"
    encoding = encoding_named(encoding or "utf-8")
    text = sample.decode(encoding, errors="replace").lstrip(BYTE_ORDER_MARK)
    line_end = "\r" if "\r" in text[:-1] and "\n" not in text else "\n"  # not at the end, where CRLF may be cut
    lines = list(io.StringIO(text, newline=line_end))
    if len(sample) == SAMPLE_BYTES and len(lines) > 1:
        del lines[-1:]  # the last line may be cut
    skips_blanks = _BLANK_BEFORE_QUOTE.search(text) is not None
    separator_line = _SEP_LINE.fullmatch(lines[0]) if lines else None  # such as "sep=;"
    separator = separator_line[1] if separator_line else _separator(lines[:SAMPLE_LINES], skips_blanks)
    return Dialect(encoding, separator, skips_blanks, has_separator_line=separator_line is not None, line_end=line_end)


def lines_of(file: BinaryIO, encoding: str, line_end: str = "\n") -> Iterator[str]:
    """Yield the lines of a file as text, without byte-order marks at their beginning.

    Raise `Unreadable` if a line is too long, does not have this encoding, or contains NUL.
    """
    raw_lines = iter(lambda: file.readline(LONGEST_LINE_BYTES + 1), b"")  # + 1: to notice a line that is too long
    lines: Iterator[str | bytes] = _decoded_lines(file, encoding, line_end) if encoding == "utf-16" else raw_lines
    if line_end == "\r" and encoding != "utf-16":  # of the encodings, only UTF-16 has this byte in other characters
        lines = (line.encode("latin-1") for line in _decoded_lines(file, "latin-1", line_end))
    for line_number, line in enumerate(lines, 1):
        yield decode_line(line, line_number, encoding)


def refuse_other_formats(file: BinaryIO) -> bytes:
    """Return the beginning of a file without moving its position; raise `Unreadable` for common binary formats."""
    start = file.tell()
    sample = file.read(SAMPLE_BYTES)
    file.seek(start)
    for signature, file_kind in SIGNATURES.items():
        if sample.startswith(signature):
            raise Unreadable(f"this is {file_kind}")
    return sample


def decode_line(line: str | bytes, line_number: int, encoding: str = "utf-8") -> str:
    """Return a line as text; raise `Unreadable` if it is too long, does not have the encoding, or contains NUL."""
    if len(line) > LONGEST_LINE_BYTES:
        raise Unreadable(f"a line of more than {LONGEST_LINE_BYTES:,} bytes", line=line_number)
    try:
        text = line if isinstance(line, str) else line.decode(encoding)
    except UnicodeDecodeError as error:
        name, remedy = encoding, "name another encoding"
        if encoding == "utf-8":
            name, remedy = "UTF-8", "save the file as UTF-8, or name the encoding of a table"
        raise Unreadable(f"byte {error.start + 1} of the line is not {name}; {remedy}", line=line_number) from None
    if "\0" in text:
        raise Unreadable("contains the character NUL; this is not a text file", line=line_number)
    return text.lstrip(BYTE_ORDER_MARK)


def _decoded_lines(file: BinaryIO, encoding: str, line_end: str) -> Iterator[str]:
    """Yield the lines of a file as text; of a line that is too long, yield the first part."""
    decoder, pending_text = codecs.getincrementaldecoder(encoding)(), ""
    while True:
        chunk = file.read(SAMPLE_BYTES)
        try:
            pending_text += decoder.decode(chunk, final=not chunk)
        except UnicodeError:
            raise Unreadable("this is not UTF-16, as its first bytes say; save the file as UTF-8") from None
        *lines, pending_text = re.split(f"(?<={re.escape(line_end)})", pending_text)
        if len(pending_text) > LONGEST_LINE_BYTES or (not chunk and pending_text):
            lines, pending_text = [*lines, pending_text], ""
        yield from lines
        if not chunk:
            return


def _separator(lines: list[str], skips_blanks: bool) -> str:
    """Return the separator with which most rows of a sample have as many cells as the header."""
    agreement_of = {separator: _share_of_agreeing_rows(lines, separator, skips_blanks) for separator in SEPARATORS}
    # the comma is the last separator: reversed, `max` returns it if all agreements are 0, as in a table of one column
    likeliest = max(reversed(SEPARATORS), key=lambda separator: agreement_of[separator])
    return next((separator for separator, agreement in agreement_of.items() if agreement == 1), likeliest)


def _share_of_agreeing_rows(lines: list[str], separator: str, skips_blanks: bool) -> float:
    """Return the share of rows with as many cells as the header; 0 if the header has fewer than two cells."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=skips_blanks)
    try:
        cell_counts = [len(row) for row in reader if row]
    except csv.Error:
        return 0.0
    if not cell_counts or cell_counts[0] < 2:
        return 0.0
    return sum(cell_count == cell_counts[0] for cell_count in cell_counts) / len(cell_counts)


LONGEST_CELL = 10_000
MOST_COLUMNS = 1_000
MOST_ROWS = 1_000_000
LONGEST_NAME = 200

_FORMULA_SIGNS = frozenset("=+-@＝＋－＠")
SUSPICIOUS = _FORMULA_SIGNS | frozenset(" \t\r")
"""First characters of cells that may be formulas."""

_HANDWRITTEN_NUMBER = re.compile(r"[+\-＋－][\d\s().,/%-]*", re.ASCII)
"""Pattern of signed numbers as people write them: ``+47 (22) 33``, ``-5%``."""

_OPERATORS = re.compile(r"[(|!=*^&+]")


class CsvRows:
    """The rows of a CSV file, read from its current position.

    Encoding (UTF-8, UTF-16 with its mark, or `encoding`), separator (comma, semicolon, tab, ``|``, or as a first line
    ``sep=…`` says) and blanks are recognised by the beginning of the file. A first column that has no name and counts
    the rows, as data frames write it, is left out.

    `columns` are the names in the first line, without blanks around them and in Unicode form NFC. `dialect` is the
    recognised form. `counts_rows` is true if the first column was left out, because it counts the rows. `Unreadable` is
    raised on construction for an invalid header, during iteration for an invalid row.
    """

    def __init__(self, file: BinaryIO, encoding: str | None = None) -> None:
        self.dialect = recognise(file, encoding)
        lines = lines_of(file, self.dialect.encoding, self.dialect.line_end)
        self._line_offset = int(self.dialect.has_separator_line)
        if self._line_offset:
            next(lines)  # such as "sep=;"
        self._reader = csv.reader(
            lines, delimiter=self.dialect.separator, skipinitialspace=self.dialect.skips_blanks, strict=True
        )
        header = next((row for row in self._read_rows() if row), None)
        if header is None:
            raise Unreadable("the file is empty; the first line must name the columns")
        self._header = header
        self.counts_rows = len(header) > 1 and not header[0].strip()  # a first column without name: row numbers
        names = header[1:] if self.counts_rows else header
        self.columns = tuple(unicodedata.normalize("NFC", name.strip()) for name in names)
        check_names(self.columns)
        refuse_formulas(self.columns, self.columns, self._line_number())  # the names are the cells of this line

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Validate and yield the rows, each with the number of its last line (a cell may hold line breaks)."""
        row_count, first_row_number = 0, ""
        for cells in self._read_rows():
            if not cells:
                continue  # skip empty lines, which many programs write at the end
            line_number = self._line_number()
            if len(cells) != len(self._header):
                raise Unreadable(f"{len(cells)} cells, and the header has {len(self._header)}", line=line_number)
            if cells == self._header:
                raise Unreadable("repeats the header; send files one by one, or join them without it", line=line_number)
            row_count += 1
            if row_count > MOST_ROWS:
                raise Unreadable(f"more than {MOST_ROWS:,} rows; send a random part of them", line=line_number)
            row = cells
            if self.counts_rows:
                first_row_number = cells[0].strip() if row_count == 1 else first_row_number
                # without a name, the first column must count the rows, from 0 or from 1
                if first_row_number not in {"0", "1"} or cells[0].strip() != str(int(first_row_number) + row_count - 1):
                    raise Unreadable(f"column 1 needs a name of 1 to {LONGEST_NAME} characters", line=1)
                row = cells[1:]
            refuse_formulas(row, self.columns, line_number)
            for cell, name in zip(row, self.columns, strict=True):
                if len(cell) > LONGEST_CELL:
                    message = f"a cell of {len(cell):,} characters; at most {LONGEST_CELL:,}"
                    raise Unreadable(message, line=line_number, column=name)
            yield line_number, row

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each difference from a comma-separated UTF-8 file without row numbers."""
        if self.dialect.separator != ",":
            yield f"the columns are separated by {self.dialect.separator!r}"
        if self.dialect.encoding != "utf-8":
            yield f"the encoding is {self.dialect.encoding}"
        if self.counts_rows:
            yield "the first column, which has no name and counts the rows, was left out"

    def _line_number(self) -> int:
        return self._reader.line_num + self._line_offset

    def _read_rows(self) -> Iterator[list[str]]:
        try:
            yield from self._reader
        except csv.Error as error:
            raise Unreadable(f"this is not CSV ({error})", line=self._line_number() or 1) from None


def check_names(columns: Sequence[str]) -> None:
    """Raise `Unreadable` for too many columns, missing or too long names, or names that look the same."""
    if len(columns) > MOST_COLUMNS:
        raise Unreadable(f"{len(columns):,} columns; at most {MOST_COLUMNS:,}", line=1)
    visible_names: set[str] = set()
    for number, name in enumerate(columns, 1):
        if not name.strip() or len(name) > LONGEST_NAME:
            raise Unreadable(f"column {number} needs a name of 1 to {LONGEST_NAME} characters", line=1)
        normalised_name = unicodedata.normalize("NFC", name.strip())
        # characters of the category Cf, such as a zero-width space, are invisible
        visible_name = "".join(letter for letter in normalised_name if unicodedata.category(letter) != "Cf")
        if visible_name in visible_names:
            raise Unreadable("two columns have this name", line=1, column=visible_name)
        visible_names.add(visible_name)
        if invisible_character := invisible_in(name):
            raise Unreadable(f"the name of column {number} holds the invisible character {invisible_character}", line=1)


def refuse_formulas(cells: Sequence[str], columns: Sequence[str], line: int) -> None:
    """Raise `Unreadable` for spreadsheet formulas, which could harm readers of an exported table."""
    for cell, name in zip(cells, columns, strict=True):
        if cell[:1] in SUSPICIOUS and is_formula(cell):
            message = f"{shown(cell)} is a spreadsheet formula; send its value, or text that does not start with ="
            raise Unreadable(message, line=line, column=name)


def is_formula(cell: str) -> bool:
    """Return whether a spreadsheet would run a text as a formula: ``=1+1`` and ``@SUM(…)``, but not ``+47 22 33``."""
    if cell[:1] in {"\t", "\r"}:
        return True
    text = cell.strip(" ")
    if len(text) < 2 or text[0] not in _FORMULA_SIGNS:
        return False
    if text[0] in "=＝":
        return True
    is_number = _HANDWRITTEN_NUMBER.fullmatch(text) or NUMBER.fullmatch(text)  # such as -1e5
    return not is_number and _OPERATORS.search(text, 1) is not None  # 1: after the first sign
