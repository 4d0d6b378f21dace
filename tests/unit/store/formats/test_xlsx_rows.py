"""Spreadsheets (xlsx): how cells are read, the notes about them, and files that are refused with one line."""

import io
import json
import re
import struct
from contextlib import suppress
from pathlib import Path

import pytest

from assay.errors import SpecificationError
from store.formats import XLSX, inspect
from store.formats.choice_rows import read_trials
from store.formats.csv_rows import CsvRows
from store.formats.decision_rows import read_decisions
from store.formats.limited import run_limited
from store.formats.table import read_rows
from store.formats.xlsx_parts import meaning_of, moment
from store.formats.xlsx_rows import XlsxRows
from tests.support.workbooks import MAIN, Xml, data, packed, sheet, workbook

HEADER = ["sex", "hired", "score"]
PEOPLE = [HEADER, ["F", "yes", 1.5], ["M", "no", 2]]


def book(rows, **more):
    return workbook({"Data": rows}, **more)


def read(content, **reading):
    """Inspect a table; return its rows, read as the summary says, and the summary."""
    file = io.BytesIO(content)
    summary = inspect(file, "table", XLSX, **reading)
    return read_rows(file, XLSX, summary, None), summary


def refusal(content, **reading):
    with pytest.raises(SpecificationError) as refused:
        read(content, **reading)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def columns_of(content, **reading):
    rows, summary = read(content, **reading)
    return {column["name"]: (column["type"], [row[column["name"]] for row in rows]) for column in summary["columns"]}


# ---------------------------------------------------------------------------- what is read
def test_texts_and_numbers_of_a_sheet_are_read_with_their_types():
    rows = [*PEOPLE, ["D", None, None]]
    assert columns_of(book(rows)) == {
        "sex": ("text", ["F", "M", "D"]),
        "hired": ("text", ["yes", "no", None]),
        "score": ("number", [1.5, 2.0, None]),
    }


def test_rich_and_escaped_texts_are_read_without_their_phonetic_guides():
    shared = [
        "<t>sex</t>",
        "<r><rPr><b/></rPr><t>wo</t></r><r><t xml:space='preserve'>man </t></r>",
        "<t>東京</t><rPh sb='0' eb='1'><t>トウキョウ</t></rPh>",
        "<t>a_x000D_b_x005F_x_xD800_&amp;</t>",
        "<t></t>",
    ]
    cells = [[Xml(f'<c r="{{at}}" t="s"><v>{number}</v></c>')] for number in range(5)]
    rows, _ = read(book(cells, shared=shared))
    assert [row["sex"] for row in rows] == ["woman", "東京", "a\rb_x_xD800_&"]


def test_true_and_false_are_read_as_the_spreadsheet_shows_them():
    assert columns_of(book([["hired"], [True], [False]])) == {"hired": ("text", ["TRUE", "FALSE"])}
    cells = [["F", Xml(f'<c r="{{at}}" t="b"><v>{text}</v></c>')] for text in ("TRUE", "false", "")]
    assert columns_of(book([["sex", "hired"], *cells]))["hired"] == ("text", ["TRUE", "FALSE", None])


def test_a_date_cell_without_a_date_is_empty():
    cells = [["F", Xml(f'<c r="{{at}}" t="d"><v>{text}</v></c>')] for text in ("", "T00:00:00", "2026-01-01T00:00:00")]
    assert columns_of(book([["sex", "day"], *cells]))["day"] == ("text", [None, None, "2026-01-01"])


@pytest.mark.parametrize(("code", "serial", "shown"), [
    (14, 45000, "2023-03-15"), (22, 45000.5, "2023-03-15T12:00:00"), ("dd/mm/yyyy;@", 45000, "2023-03-15"),
    ("[$-409]d-mmm-yy", 1, "1900-01-01"), ("yyyy", 59, "1900-02-28"), ("mmmm", 61, "1900-03-01"),
    (20, 0.75, "18:00:00"), ("h:mm AM/PM", 0.999999999, "23:59:59"), ("[h]:mm", 1.5, "36:00:00"),
    ("mm:ss", 0.5, "12:00:00"), ("yyyy/mm/dd hh:mm", 45000.25, "2023-03-15T06:00:00"),
])  # fmt: skip
def test_dates_and_times_become_texts_in_iso_8601(code, serial, shown):
    cell = Xml(f'<c r="{{at}}" s="1"><v>{serial}</v></c>')
    assert columns_of(book([["day"], [cell]], formats=[code])) == {"day": ("text", [shown])}


def test_dates_of_a_workbook_with_the_1904_calendar_are_read_correctly():
    cell = Xml('<c r="{at}" s="1"><v>0</v></c>')
    content = book([["day"], [cell]], formats=[14], properties='date1904="1"')
    assert columns_of(content) == {"day": ("text", ["1904-01-01"])}


@pytest.mark.parametrize(
    "code", ["0.00", '0.0 "days"', "#,##0\\d", "General", "[Red]0", "@", "0.00E+00", '_-* #,##0_-"h"']
)
def test_a_plain_number_format_is_not_taken_for_a_date(code):
    assert meaning_of(code) == ""


def test_percentages_are_read_as_numbers_and_a_note_is_added():
    cells = [["rate"], *([Xml(f'<c r="{{at}}" s="1"><v>{value}</v></c>')] for value in (0.5, 0.25))]
    rows, summary = read(book(cells, formats=["0.0%"]))
    assert rows == [{"rate": 0.5}, {"rate": 0.25}]
    assert "column 'rate': a percentage is read as a number, 50 % as 0.5" in summary["notes"]


def test_values_of_formulas_are_read_and_counted():
    cell = Xml('<c r="{at}"><f>1+1</f><v>2</v></c>')
    text = Xml('<c r="{at}" t="str"><f>IF(1,"","")</f><v></v></c>')
    rows, summary = read(book([["n", "t"], [cell, text], [3, "x"]]))
    assert rows == [{"n": 2, "t": None}, {"n": 3, "t": "x"}]
    assert "the values of 2 formulas are those that were last computed" in summary["notes"]


def test_empty_rows_around_the_header_and_columns_before_the_table_are_skipped():
    rows, _ = read(book([[], [], [None, "sex", None, "hired"], [], [None, "F", None, "yes"], [None, "M", None, "no"]]))
    assert rows == [{"sex": "F", "hired": "yes"}, {"sex": "M", "hired": "no"}]


def test_a_first_column_that_counts_the_rows_is_left_out_and_a_note_says_so():
    rows, summary = read(book([[None, "sex"], [0, "F"], [1, "M"]]))
    assert rows == [{"sex": "F"}, {"sex": "M"}]
    assert "the first column, which has no name and counts the rows, was left out" in summary["notes"]


def test_rows_and_cells_without_references_are_read_in_their_order():
    header = '<row><c t="str"><v>sex</v></c><c/><c t="str"><v>n</v></c></row>'
    person = '<row><c t="str"><v>F</v></c><c/><c><v>1</v></c></row>'
    content = f'<worksheet xmlns="{MAIN}"><sheetData>{header}{person}</sheetData></worksheet>'
    assert read(book(content))[0] == [{"sex": "F", "n": 1}]


def test_a_sheet_whose_xml_elements_have_a_prefix_is_read():
    header = '<x:row r="1"><x:c r="A1" t="str"><x:v>sex</x:v></x:c></x:row>'
    person = '<x:row r="2"><x:c r="A2" t="inlineStr"><x:is><x:t>F</x:t></x:is></x:c></x:row>'
    content = f'<x:worksheet xmlns:x="{MAIN}"><x:sheetData>{header}{person}</x:sheetData></x:worksheet>'
    assert read(book(content))[0] == [{"sex": "F"}]


def test_cells_that_are_formatted_but_empty_count_as_empty():
    far = Xml('<c r="XFD2" s="1"/>')
    rows, _ = read(book([["sex"], ["F", far]], formats=["0"]))
    assert rows == [{"sex": "F"}]


def test_numbers_stored_as_text_are_read_as_numbers_by_the_decimal_sign_of_the_text():
    assert columns_of(book([["n", "m"], [1.5, 2], ["0,5", "?"]])) == {
        "n": ("number", [1.5, 0.5]),
        "m": ("integer", [2, None]),
    }
    assert "may be 1234 or 1.234; state the decimal sign" in refusal(book([["n"], [1.5], ["1,234"]]))
    assert columns_of(book([["n"], [1.5], ["1,234"]]), decimal="point")["n"] == ("number", [1.5, 1234.0])


def test_columns_of_codes_or_of_mixed_cells_stay_text():
    assert columns_of(book([["code", "mixed"], ["007", 5], ["012", "five"]])) == {
        "code": ("text", ["007", "012"]),
        "mixed": ("text", ["5", "five"]),
    }


def test_a_hidden_column_is_read_and_a_note_says_so():
    hidden = sheet(PEOPLE, before='<cols><col min="2" max="2" hidden="1"/></cols>')
    assert "column 'hired': it is hidden in the spreadsheet, and was read" in read(book(hidden))[1]["notes"]


# ---------------------------------------------------------------------------- sheets
def test_the_only_sheet_with_cells_is_read_and_named():
    content = workbook({"Notes": [], "People": PEOPLE, "Sheet3": [[None]]})
    rows, summary = read(content)
    assert (len(rows), summary["sheet"]) == (2, "People")
    assert "the sheet 'People' was read, and no other" in summary["notes"]


def test_a_workbook_with_several_filled_sheets_is_refused_until_one_is_named():
    content = workbook({"2025": PEOPLE, "Q1 & Q2": [["a"], [1]]})
    assert refusal(content) == "2 sheets have cells: '2025', 'Q1 & Q2'; state which one: sheet=NAME"
    assert read(content, sheet="Q1 & Q2")[0] == [{"a": 1}]
    assert "no sheet of the file is called 'Q3'" in refusal(content, sheet="Q3")
    arguments = {"media_type": XLSX, "columns": ["sex"]}
    assert read_decisions(io.BytesIO(content), sheet="2025", **arguments)["rows"] == 2


# ---------------------------------------------------------------------------- people and trials
def test_decisions_of_a_spreadsheet_are_counted_as_those_of_the_same_csv():
    rows = [["sex", "hired", "score"], *([sex, hired, score] for sex, hired, score in zip(
        "FMFMF", (1, 0, 1, True, None), (1.5, 2, 3, 4.25, 5), strict=True))]  # fmt: skip
    lines = "sex,hired,score\nF,1,1.5\nM,0,2\nF,1,3\nM,TRUE,4.25\nF,,5\n"
    named = {"columns": ["sex", "hired"], "score": "score"}
    counted = read_decisions(io.BytesIO(book(rows)), XLSX, **named)
    expected = read_decisions(io.BytesIO(lines.encode()), "text/csv", **named)
    assert {**counted, "digest": ""} == {**expected, "digest": ""}


@pytest.mark.parametrize("decimal", [None, "comma"])
def test_numbers_of_a_spreadsheet_keep_their_value_beside_texts_with_decimal_commas(decimal):
    rows = [["sex", "score", "weight"], ["F", "0,5", 1], ["M", 2.5, 1.125], ["M", "2,5", 1]]
    counted = read_decisions(io.BytesIO(book(rows)), XLSX, ["sex"], score="score", weight="weight", decimal=decimal)
    assert sorted(zip(counted["scores"], counted["weights"], strict=True)) == [(0.5, 1.0), (2.5, 2.125)]


def test_a_column_of_a_spreadsheet_can_be_a_group_and_a_score():
    content = book([["points", "hired"], [1.5, "yes"], ["1,5", "no"], [2, "no"], ["2", "no"]])
    counted = read_decisions(io.BytesIO(content), XLSX, ["points", "hired"], score="points")
    assert counted["columns"][0]["values"] == ("1.5", "1,5", "2")
    assert sorted(zip(counted["scores"], counted["counts"], strict=True)) == [(1.5, 1), (1.5, 1), (2.0, 2)]


def test_a_word_in_the_scores_of_a_spreadsheet_is_named_with_its_row():
    with pytest.raises(SpecificationError, match="line 3, column 'score': 'high' is not a number"):
        read_decisions(io.BytesIO(book([*PEOPLE[:2], ["M", "no", "high"]])), XLSX, ["sex"], score="score")


def test_forced_choices_in_a_spreadsheet_are_read_as_counts():
    content = book([["concept", "level", "chose_second", "trials"], ["nurse", 0.5, 3, 10]])
    assert inspect(io.BytesIO(content), "trials", XLSX)["trials"] == 10
    assert read_trials(io.BytesIO(content), XLSX) == [
        {"concept": "nurse", "level": 0.5, "chose_second": 3, "trials": 10}
    ]


@pytest.mark.parametrize("table", [table for table in json.loads((
    Path(__file__).resolve().parents[5] / "shared" / "known_answers" / "tables.json").read_text())["tables"]
    if isinstance(table["expected"], dict) and all(isinstance(value, list) for value in table["expected"].values())],
    ids=lambda table: table["name"])  # fmt: skip
def test_a_spreadsheet_has_the_same_columns_as_a_csv_file_with_its_texts(table):
    rows = CsvRows(io.BytesIO(table["content"].encode()))
    columns = columns_of(book([[*rows.columns], *(row for _, row in rows)]))
    for name, expected in table["expected"].items():
        assert columns[name] == tuple(expected)


# ---------------------------------------------------------------------------- what is refused
ERROR = Xml('<c r="{at}" t="e"><v>#DIV/0!</v></c>')
REFUSED = {
    "an error": (book([*PEOPLE, ["F", "no", ERROR]]), "line 4, column 'score': the cell holds the error #DIV/0!"),
    "an error without a value": (
        book([["a"], [Xml('<c r="{at}" t="e"><v>#N/A</v></c>')]]),
        "the error #N/A; correct it",
    ),
    "an error in the header": (book([["a", ERROR], [1, 2]]), "line 1, column 'B': the cell holds the error"),
    "a formula that was never computed": (
        book([["a"], [Xml('<c r="{at}"><f>1+1</f></c>')]]),
        "line 2, column 'a': the value of this formula was never",
    ),
    "a formula with an empty value": (book([["a"], [Xml('<c r="{at}"><f>1+1</f><v></v></c>')]]), "was never computed"),
    "a formula of a program that computes nothing": (
        book([["a"], [Xml('<c r="{at}"><f>1+1</f><v>0</v></c>')]], calculation='fullCalcOnLoad="1"'),
        "never computed",
    ),
    "merged cells": (
        book(sheet(PEOPLE, after='<mergeCells><mergeCell ref="A2:A3"/></mergeCells>')),
        "line 2: the cells A2:A3 are merged; unmerge them, and fill each",
    ),
    "a merged header": (
        book(sheet(PEOPLE, after='<mergeCells><mergeCell ref="A1:B1"/></mergeCells>')),
        "A1:B1 are merged",
    ),
    "a hidden row": (book(sheet(PEOPLE, row_3='hidden="1"')), "line 3: this row is hidden; show all rows, or delete"),
    "an empty name": (book([["sex", None, "n"], ["F", "x", 1]]), "line 2: the cell B2 has no name above it in row 1"),
    "a cell beside the table": (book([["sex"], ["F"], ["M", None, "note"]]), "line 3: the cell C3 has no name"),
    "a title above the table": (book([["Hiring 2026"], [], ["sex", "hired"], ["F", "yes"]]), "the cell B3 has no name"),
    "a first column that counts wrong": (book([[None, "a"], [0, "x"], [2, "y"]]), "the cell A3 has no name"),
    "a first column that stops counting": (book([[None, "a"], [0, "x"], [None, "y"]]), "the cell A3 has no name"),
    "two equal names": (book([["a", "a "], [1, 2]]), "two columns have this name"),
    "names that look equal": (book([["a", "\u200ba"], [1, 2]]), "two columns have this name"),
    "a total below an empty row": (book([*PEOPLE, [], ["Total", None, 3.5]]), "line 5: rows go on below an empty row"),
    "a repeated header": (book([*PEOPLE, HEADER]), "line 4: repeats the header"),
    "a formula as text": (book([["a"], ["=1+1"]]), "line 2, column 'a': '=1+1' is a spreadsheet formula"),
    "a formula as name": (book([["=A1"], ["x"]]), "'=A1' is a spreadsheet formula; rename the column"),
    "a cell of 20,000 characters": (book([["a"], ["x" * 20_000]]), "line 2, column 'a': a cell of more than 10,000"),
    "a cell of a million characters": (book([["a"], ["x" * 1_000_000]]), "a cell of more than 10,000 characters"),
    "a NUL": (book([["a"], ["x_x0000_"]]), "the character NUL"),
    "no cells": (book([]), "the sheet is empty; its first row must name the columns"),
    "a blank header": (book([[" "], ["F"]]), "line 1: the header row names no column; write a name of 1 to 200"),
    "a header alone": (book([HEADER]), "the table has columns but no rows"),
    "a day that never was": (book([["a"], [Xml('<c r="{at}" s="1"><v>60</v></c>')]], formats=[14]), "never was"),
    "a date before all days": (
        book([["a"], [Xml('<c r="{at}" s="1"><v>-1</v></c>')]], formats=[14]),
        "-1 is not a date",
    ),
    "an infinite number": (book([["a"], [Xml('<c r="{at}"><v>1e999</v></c>')]]), "'1e999' is not a number"),
    "a number that is none": (book([["a"], [Xml('<c r="{at}"><v>x</v></c>')]]), "line 2, column 'a'"),
    "an unknown type": (book([["a"], [Xml('<c r="{at}" t="q"><v>1</v></c>')]]), "unknown type 'q'"),
    "a shared text that is missing": (book([["a"], [Xml('<c r="{at}" t="s"><v>7</v></c>')]]), "damaged"),
    "a shared text without a number": (book([["a"], [Xml('<c r="{at}" t="s"><v>x</v></c>')]]), "damaged"),
    "a shared text before the first": (
        book([["a"], [Xml('<c r="{at}" t="s"><v>-1</v></c>')]], shared=["<t>b</t>"]),
        "damaged",
    ),
    "rows in the wrong order": (
        book(
            f'<worksheet xmlns="{MAIN}"><sheetData><row r="2"><c r="A2"><v>1</v></c></row><row r="1"/></sheetData>'
            "</worksheet>"
        ),
        "row 1 comes after row 2",
    ),
    "cells in the wrong order": (
        book([["a", "b"], [Xml('<c r="B2"><v>1</v></c>'), Xml('<c r="A2"><v>1</v></c>')]]),
        "order",
    ),
    "a column beyond the last": (book([["a"], [Xml('<c r="XFE2"><v>1</v></c>')]]), "'XFE' is no column"),
    "a reference that is none": (book([["a"], [Xml('<c r="?"><v>1</v></c>')]]), "damaged"),
    "a row that is none": (
        book(f'<worksheet xmlns="{MAIN}"><sheetData><row r="x"/></sheetData></worksheet>'),
        "'x' is no number",
    ),
    "1,001 columns": (book([[f"c{number}" for number in range(1001)]]), "1,001 columns; at most 1,000"),
    "XML that ends too early": (book(f'<worksheet xmlns="{MAIN}"><sheetData>'), "damaged"),
    "entities": (book('<!DOCTYPE a [<!ENTITY b "c">]>' + sheet(PEOPLE)), "it declares a document type"),
    "a text document": (packed({"_rels/.rels": "<Relationships/>", "word/document.xml": "<w/>"}), "no xlsx workbook"),
    "a workbook of binary parts": (packed({"xl/workbook.bin": b"\x83"}), "no xlsx workbook"),
    "an open document": (packed({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}), "no xlsx workbook"),
    "a workbook without sheets": (workbook({}), "no workbook with sheets of cells"),
    "a sheet that is missing": (
        book(PEOPLE, parts={"xl/worksheets/sheet1.xml": None}),
        "'xl/worksheets/sheet1.xml' is missing",
    ),
    "CSV named xlsx": (b"sex,hired\nF,yes\n", "this is not an xlsx file, or it is damaged"),
    "nothing": (b"", "this is not an xlsx file"),
}

REFUSED |= {
    f"a {what} that is {content}": (
        book([["a"], [Xml(f'<c r="{{at}}" t="{kind}"><v>{content}</v></c>')]]),
        f"line 2, column 'a': '{content}' is no",
    )
    for what, kind, content in [
        ("truth value", "b", "yes"),
        ("truth value", "b", "2"),
        ("number", "n", "1_000"),
        ("number", "n", "\uff11\uff12"),
        ("number", "n", "nan"),
    ]
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_spreadsheet_is_refused_with_one_line(name):
    content, line = REFUSED[name]
    assert line in refusal(content)


@pytest.mark.parametrize("part", range(0, 100, 7))
def test_a_truncated_or_altered_spreadsheet_is_read_completely_or_refused(part):
    content = bytearray(book([HEADER, *([str(number), "yes", number] for number in range(200))]))
    position = len(content) * part // 100
    changed = (
        content[:position] + bytes(byte ^ 0x5A for byte in content[position : position + 4]) + content[position + 4 :]
    )
    for wrong in (content[:position], changed):
        people = 0
        with suppress(SpecificationError):
            people = len(read(bytes(wrong))[0])
        assert people in {0, 200}  # it is read whole if the changed bytes are in a part that is not used


# ---------------------------------------------------------------------------- small files that would cost much
def test_a_part_of_a_workbook_that_unpacks_to_too_many_bytes_is_refused_before_it_is_unpacked():
    content = bytearray(book(PEOPLE))
    for found in re.finditer(rb"xl/worksheets/sheet1\.xml", bytes(content)):
        central = found.start() - 46
        if content[central : central + 4] == b"PK\x01\x02":
            content[central + 24 : central + 28] = struct.pack("<I", 600 << 20)
    assert "unpacks to 629,145,600 bytes; at most 536,870,912 are read" in refusal(bytes(content))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["empty cells", "one text", "rows of one cell", "wide rows"])
def test_a_small_file_that_unpacks_to_250_mb_is_refused_by_the_limits_of_the_child_process(kind, tmp_path):
    piece = {
        "empty cells": "<c/>" * 16_000,
        "one text": "x" * 64_000,
        "rows of one cell": "<row><c><v>1</v></c></row>" * 2_500,
        "wide rows": "<row>" + "<c><v>1</v></c>" * 16_384 + "</row>",
    }[kind]
    begin, end = {
        "empty cells": ("<row>", "</row>"),
        "one text": ("<row><c t='str'><v>", "</v></c></row>"),
    }.get(kind, ("", ""))
    first = data([["a"]])
    rows = begin + piece * (250_000_000 // len(piece)) + end
    content = book(f'<worksheet xmlns="{MAIN}"><sheetData>{first}{rows}</sheetData></worksheet>')
    assert len(content) < 2_000_000
    with (tmp_path / "bomb.xlsx").open("w+b") as file:
        file.write(content)
        with pytest.raises(SpecificationError):
            run_limited("inspect", file, purpose="table", media_type=XLSX)


def test_the_same_moment_is_read_alike_in_the_1900_and_the_1904_calendar():
    assert moment(1462 + 100, "date", from_1904=False) == moment(100, "date", from_1904=True)


def test_rows_are_numbered_as_the_spreadsheet_numbers_them():
    table = XlsxRows(io.BytesIO(book([[], ["a"], [], [1], [2]])))
    assert [line for line, _ in table] == [4, 5]
