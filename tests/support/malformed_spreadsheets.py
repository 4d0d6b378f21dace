"""Builders of malformed spreadsheets, each with a part of the one-line error that it causes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from store.formats import CSV, PARQUET

HEADER = "sex,hired,score,weight\n"
GOOD = "F,yes,1.5,1\nM,no,2.5,2\n"


def text(content: str, encoding: str = "utf-8") -> Callable[[], bytes]:
    """Return a builder of a text file."""
    return lambda: content.encode(encoding)


def archive(*names: str) -> bytes:
    """Return a ZIP archive of files with these names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name in names:
            packed.writestr(name, "<xml/>")
    return content.getvalue()


def parquet(columns: dict[str, list[Any]]) -> bytes:
    """Return a Parquet file of columns."""
    arrow = pytest.importorskip("pyarrow")
    files = pytest.importorskip("pyarrow.parquet")

    content = io.BytesIO()
    arrays = {name: arrow.array(values) for name, values in columns.items()}
    files.write_table(arrow.table(arrays), content)
    return content.getvalue()


def people(**changes: list[Any]) -> bytes:
    """Return a Parquet file of two people; `changes` replaces the cells of columns."""
    columns: dict[str, list[Any]] = {
        "sex": ["F", "M"],
        "hired": ["yes", "no"],
        "score": [1.5, 2.5],
        "weight": [1.0, 2.0],
    }
    return parquet(columns | changes)


def cut(content: bytes) -> bytes:
    """Return the first half of a file."""
    return content[: len(content) // 2]


# name of the case: builder of the file, and a part of the line that it ends in
CSV_FILES = {
    "nothing": (text(""), "the file is empty; the first line must name the columns"),
    "blank lines alone": (text("\n\n\n"), "the file is empty"),
    "a header alone": (text(HEADER), "columns but no rows"),
    "a byte-order mark alone": (text("\ufeff"), "the file is empty"),
    "a row that is too short": (text(HEADER + GOOD + "F,yes,1\n"), "line 4: 3 cells, and the header has 4"),
    "a row that is too long": (text(HEADER + "F,yes,1,1,1\n"), "line 2: 5 cells, and the header has 4"),
    "a total in the last row": (text(HEADER + GOOD + "Total,,4\n"), "line 4: 3 cells"),
    "a title above the header": (
        text("Hiring 2026\n" + HEADER + GOOD),
        "known: Hiring 2026",
    ),
    "two files joined": (text(HEADER + GOOD + HEADER + GOOD), "line 4: repeats the header"),
    "a header without a name": (text("sex,,score,weight\n" + GOOD), "line 1: column 2 needs a name"),
    "a header without the first name": (
        text(",hired,score,weight\nF,yes,1,1\n"),
        "known: hired, score",
    ),
    "two equal names": (text("sex,hired,score,score\n" + GOOD), "two columns have this name"),
    "names that look equal": (text("sex,hired,score,sc\u200bore\n" + GOOD), "two columns have this name"),
    "names in two Unicode forms": (text("caf\u00e9,cafe\u0301\na,b\n"), "two columns have this name"),
    "a name of 300 characters": (text("n" * 300 + ",hired\nF,yes\n"), "column 1 needs a name of 1 to 200 characters"),
    "a quote that is not closed": (text(HEADER + 'F,"yes,1,1\n' + GOOD), "this is not CSV"),
    "text after a quote": (text(HEADER + '"F"x,yes,1,1\n'), "line 2: this is not CSV"),
    "Latin-1 that is not named": (text("sex,hired,score,weight\nJos\u00e9,yes,1,1\n", "latin-1"), "line 2"),
    "UTF-16 without its mark": (text(HEADER + GOOD, "utf-16-le"), "line 1"),
    "UTF-16 that is cut": (lambda: (HEADER + GOOD).encode("utf-16")[:-1], "this is not UTF-16, as its first bytes say"),
    "a NUL in a cell": (text(HEADER + "F\0,yes,1,1\n"), "line 2"),
    "a cell of 20,000 characters": (
        text(HEADER + "F" * 20_000 + ",yes,1,1\n"),
        "line 2, column 'sex': a cell of 20",
    ),
    "a line of 5 MB": (text(HEADER + "F" * (5 << 20) + ",yes,1,1\n"), "line 2"),
    "a formula": (text(HEADER + '=HYPERLINK("x"),yes,1,1\n'), "line 2, column 'sex': '=HYPERLINK"),
    "a formula in the header": (text("=A1,hired\nF,yes\n"), "line 1"),
    "a word in a column of scores": (
        text(HEADER + GOOD + "F,no,high,1\n"),
        "line 4, column 'score': 'high' is not",
    ),
    "an error of a spreadsheet": (text(HEADER + GOOD + "F,no,#DIV/0!,1\n"), "line 4, column 'score': '#DIV/0!' is not"),
    "an infinite score": (text(HEADER + "F,no,inf,1\n" + GOOD), "line 2, column 'score': 'inf' is not a number"),
    "numbers with two readings": (text('sex,hired,score,weight\nF,yes,"1,234",1\nM,no,"2,345",1\n'), "column 'score'"),
    "a negative weight": (
        text(HEADER + GOOD + "F,no,1,-2\n"),
        "line 4, column 'weight': '-2' is not a positive",
    ),
    "a weight of 0": (text(HEADER + GOOD + "F,no,1,0\n"), "line 4, column 'weight': '0' is not a positive number"),
    "an empty weight": (text(HEADER + GOOD + "F,no,1,\n"), "line 4, column 'weight': an empty cell is not a positive"),
    "a name in place of a group": (
        text(HEADER + "".join(f"person {number},yes,1,1\n" for number in range(5_002))),
        "line 5002, column 'sex': more than 5,000 different values",
    ),
    "another column": (text("gender,hired,score,weight\n" + GOOD), "no column of the file is called 'sex'"),
    "a web page": (text("<!DOCTYPE html><html><body>Sign in</body></html>"), "this is HTML"),
    "XML": (text('<?xml version="1.0"?><rows/>'), "this is XML"),
    "JSON": (text('[{"sex": "F"}]'), "this is JSON"),
    "a PDF": (text("%PDF-1.7\n"), "PDF; save the table as CSV"),
    "an xlsx file named csv": (
        lambda: archive("xl/workbook.xml"),
        "(a spreadsheet or npz); send a spreadsheet as xlsx",
    ),
    "an old xls file": (lambda: b"\xd0\xcf\x11\xe0" + bytes(600), "an old or encrypted spreadsheet; save it as xlsx"),
    "a compressed file": (lambda: b"\x1f\x8b" + bytes(100), "compressed; send it unpacked"),
    "Parquet named csv": (lambda: b"PAR1" + bytes(100), "Parquet; send it as"),
    "too many columns": (text(",".join(f"c{number}" for number in range(1_001)) + "\n"), "1,001 columns"),
}

PARQUET_FILES = {
    "text named parquet": (text(HEADER + GOOD), "this is not a Parquet file, or it is damaged"),
    "a Parquet file that is cut": (lambda: cut(people()), "this is not a Parquet file, or it is damaged"),
    "a Parquet file without rows": (lambda: parquet({"sex": [], "hired": [], "score": [], "weight": []}), "no rows"),
    "a list in a cell": (lambda: people(sex=[["F"], ["M"]]), "column 'sex': the type"),
    "an infinite score in Parquet": (lambda: people(score=[1.0, float("inf")]), "line 2, column 'score'"),
    "an integer above 2**53": (lambda: people(score=[1, 2**60]), "line 2, column 'score': an integer above 2**53"),
    "a negative weight in Parquet": (lambda: people(weight=[1.0, -1.0]), "line 2, column 'weight': '-1' is not"),
}

CASES = [
    *(pytest.param(CSV, *case, id=name) for name, case in CSV_FILES.items()),
    *(pytest.param(PARQUET, *case, id=name) for name, case in PARQUET_FILES.items()),
]
