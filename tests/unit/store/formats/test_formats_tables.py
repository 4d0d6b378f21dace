import io
import json
import time
from decimal import Decimal
from pathlib import Path

import pytest

from assay.experiment import generator
from store import formats
from store.formats import CSV, PARQUET, Unreadable, csv_rows, parquet_rows, table
from store.formats.csv_rows import LONGEST_CELL, LONGEST_LINE_BYTES, MOST_COLUMNS, MOST_ROWS, is_formula


def inspected(content: bytes, purpose: str = "table", media_type: str = CSV, **reading: str):
    return formats.inspect(io.BytesIO(content), purpose, media_type, **reading)


def types(content: bytes) -> dict[str, str]:
    return {one["name"]: one["type"] for one in inspected(content)["columns"]}


def rows(content: bytes, media_type: str = CSV, **reading: str):
    file = io.BytesIO(content)
    summary = formats.inspect(file, "table", media_type, **reading)
    return tuple(table.read_rows(file, media_type, summary, table.sample_of(summary, 1_000, generator(0))))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ("1 -2 +3 0", "integer"),
        ("1 2.5", "number"),
        ("1 -.5 1e3 +0.1E-2", "number"),
        ("1 02", "text"),
        ("1 1234567890123456", "text"),
        ("1 nan", "integer"),
        ("1 1e999", "text"),
        ("1 1_000", "text"),
        ("1 ١", "text"),
        ("0.5 007.5", "number"),
    ],
)
def test_column_is_numeric_only_if_all_its_cells_are_numbers(cells, kind):
    content = "a\n" + "\n".join(cells.split()) + "\n"
    assert types(content.encode()) == {"a": kind}


def test_cells_are_converted_to_the_type_of_their_column():
    read = rows(b'\xef\xbb\xbfn,x,code,note\r\n1,0.5,07,"two\nlines, ""quoted"""\r\n,,,\r\n\r\n')
    assert read == (
        {"n": 1, "x": 0.5, "code": "07", "note": 'two\nlines, "quoted"'},
        {"n": None, "x": None, "code": None, "note": None},
    )


def test_values_of_a_column_are_counted_only_if_there_are_few_different_values():
    few, many, numbers = inspected(b"a,b,c\n" + b"".join(b"x,%d,1\ny,-%d,1.0\n" % (n, n) for n in range(1, 31)))[
        "columns"
    ]
    assert few["values"] == [{"value": "x", "count": 30}, {"value": "y", "count": 30}]
    assert (many["distinct"], many["values"]) == (None, None)
    assert numbers["values"] == [{"value": 1.0, "count": 60, "text": "1"}]


@pytest.mark.parametrize(
    ("cell", "formula"),
    [
        ("=1+1", True),
        ("@SUM(A1)", True),
        ("+cmd|' /C calc'!A0", True),
        ("-2+3", True),
        ("\tx", True),
        ("\rx", True),
        ("  =1", True),
        ("＝1", True),
        ("-1.5", False),
        ("+1e3", False),
        ("-", False),
        ("+47 (22) 33-44", False),
        ("-5 %", False),
        ("@nobody", False),
        ("-none", False),
        ("+A1*2", True),
        ("a=b", False),
        ("", False),
    ],
)
def test_only_spreadsheet_cells_with_formulas_are_refused(cell, formula):
    assert is_formula(cell) is formula
    content = f'a,b\n1,"{cell}"\n'.encode()
    if formula:
        with pytest.raises(Unreadable, match="formula") as caught:
            inspected(content)
        assert caught.value.column == "b"
    else:
        inspected(content)


@pytest.mark.parametrize(
    ("content", "message", "line", "column"),
    [
        (b"a,b\n1,2\n\n3,4,5\n", "3 cells", 4, None),
        (b'a,b\n1,"two\nlines"\n3\n', "1 cells", 4, None),
        (b"a,b\n1,\xff\n", "UTF-8", 2, None),
        (b"a,b\n1,\0\n", "NUL", 2, None),
        (b"a,,c\n", "column 2 needs a name", 1, None),
        (b"a,b,a\n", "two columns", 1, "a"),
        (b"\nsep=,", "column 2 needs a name", 1, None),
        (b",a\n7,x\n8,y\n", "column 1 needs a name", 1, None),
        (b",a\n0,x\n2,y\n", "column 1 needs a name", 1, None),
        (b'[{"a": 1}]', "this is JSON", None, None),
        (b'<?xml version="1.0"?>', "this is XML", None, None),
        (b'a\n"open', "not CSV", 2, None),
        (b'a\n"x"y\n', "not CSV", 2, None),
        (b"a\n1\r2\n", "not CSV", 2, None),
        (b"a\n", "no rows", None, None),
        (b"\n", "no row|name", None, None),
        (b"\xff\xfea\x00", "no rows", None, None),
        (b"\xff\xfea\x00\n\x00\x00\xd8\n\x00", "UTF-16", None, None),
        (b"%PDF-1.7", "PDF", None, None),
        (b"a\n" + b"x" * (LONGEST_CELL + 1), "characters", 2, "a"),
        (b"a\n" + b'"' + b"x" * LONGEST_LINE_BYTES, "a line of more", 2, None),
        (b",".join(b"c%d" % n for n in range(MOST_COLUMNS + 1)), "columns", 1, None),
        (b"a\n" + b"1\n" * (MOST_ROWS + 1), "rows", MOST_ROWS + 2, None),
        (b"=a\n1\n", "formula", 1, "=a"),
    ],
)
def test_invalid_csv_is_refused_with_line_and_column(content, message, line, column):
    with pytest.raises(Unreadable, match=message) as caught:
        inspected(content)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b"concept,chose\n", 1, None),
        (b"concept,level\nnurse,1\n", 1, None),
        (b"concept,level,chose,trials\n", 1, None),
        (b"concept,level,chose,colour\n", 1, None),
        (b"concept,level,chose\nnurse,eleven,first\n", 2, "level"),
        (b"concept,level,chose\nnurse,11,first\n", 2, "level"),
        (b"concept,level,chose\n,1,first\n", 2, "concept"),
        (b"concept,level,chose_second\nnurse,1,2\n", 2, "chose_second"),
        (b"concept,level,chose_second,trials\nnurse,1,3,2\n", 2, "chose_second"),
        (b"concept,level,chose_second,trials\nnurse,1,0,0\n", 2, "chose_second"),
        (b"concept,level,chose_second,trials\nnurse,1,0,1.5\n", 2, "trials"),
    ],
)
def test_an_invalid_table_of_forced_choices_is_refused_with_line_and_column(content, line, column):
    with pytest.raises(Unreadable) as caught:
        inspected(content, "trials")
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_table_of_forced_choices_gives_the_same_counts_in_each_of_three_formats():
    named = b"concept,level,chose\nnurse,0.5,first\nnurse,0.5,second\n"
    numbered = b"concept,level,chose_second\nnurse,0.5,0\nnurse,0.50,1\n"
    counted = b"level,concept,trials,chose_second\n.5,nurse,2,1\n"
    read = [formats.choice_rows.read_trials(io.BytesIO(each), formats.CSV) for each in (named, numbered, counted)]
    assert read == [[{"concept": "nurse", "level": 0.5, "chose_second": 1, "trials": 2}]] * 3


KNOWN = json.loads((Path(__file__).resolve().parents[5] / "shared" / "known_answers" / "tables.json").read_text())


@pytest.mark.parametrize("known", [table for table in KNOWN["tables"] if isinstance(table["expected"], dict)
                                   and all(isinstance(value, list) for value in table["expected"].values())],
                         ids=lambda known: known["name"])  # fmt: skip
def test_a_table_as_written_by_spreadsheet_programs_is_read_with_the_expected_columns(known):
    content = known["content"].encode()
    summary = {column["name"]: column["type"] for column in inspected(content)["columns"]}
    read = rows(content)
    for name, (kind, values) in known["expected"].items():
        assert summary[name] == kind
        assert [row[name] for row in read] == values


@pytest.mark.parametrize("known", [table for table in KNOWN["tables"] if str(table["expected"]).startswith("refused")],
                         ids=lambda known: known["name"])  # fmt: skip
def test_a_malformed_example_table_is_refused_with_its_expected_reason(known):
    with pytest.raises(Unreadable, match=known["expected"].removeprefix("refused: ").replace("line 3 ", "line 3: ")):
        inspected(known["content"].encode())


@pytest.mark.parametrize(
    "form", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le with mark", "cp1252", "cp1251", "shift_jis"]
)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_table_is_read_alike_in_every_encoding_and_with_every_separator(form, separator):
    word = {"cp1251": "имя", "shift_jis": "名前"}.get(form, "Größe")
    text = (
        separator.join(["name", "pay", "n"])
        + "\r\n"
        + "".join(separator.join([f'"{word}{separator}{number}"', "1.5", str(number)]) + "\r\n" for number in range(9))
    )
    encoding = "utf-16-le" if "mark" in form else form
    content = ("\ufeff" + text if "mark" in form else text).encode(encoding)
    reading = {} if form.startswith("utf") else {"encoding": form}
    assert rows(content, **reading) == tuple(
        {"name": f"{word}{separator}{number}", "pay": 1.5, "n": number} for number in range(9)
    )
    if reading:
        with pytest.raises(Unreadable, match="UTF-8") as refused:
            inspected(content)
        assert refused.value.line == 2


@pytest.mark.parametrize("encoding", ["utf-7", "zip", "rot13", "idna", "punycode", "unknown", "base64_codec", "x" * 99])
def test_an_encoding_that_spreadsheets_do_not_write_is_refused(encoding):
    with pytest.raises(Unreadable, match="not accepted"):
        inspected(b"a\n1\n", encoding=encoding)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["0,5", "1.234,5"], [0.5, 1234.5]),
        (["1 234,5", "2"], [1234.5, 2.0]),
        (["1\u00a0234.5", "2"], [1234.5, 2.0]),
        (["1'234'567.5", "2"], [1234567.5, 2.0]),
        (["1,234.5", "12"], [1234.5, 12.0]),
        (["1,234,567", "12"], [1234567, 12]),
        (["-1,5", "−2"], [-1.5, -2.0]),
        (["1.234", "2.5"], [1.234, 2.5]),
        (["123 456", "234 567"], ["123 456", "234 567"]),
        (["1,23,456", "2"], ["1,23,456", "2"]),
        (["1,5", "1.5"], ["1,5", "1.5"]),
        (["0047", "1,5"], ["0047", "1,5"]),
        (["?", "NA"], ["?", "NA"]),
        (["?", "1,5"], [None, 1.5]),
    ],
)
def test_numbers_are_read_by_the_decimal_sign_that_fits_the_whole_column(cells, values):
    content = "a;b\n" + "".join(f"x;{cell}\n" for cell in cells)
    assert [row["b"] for row in rows(content.encode())] == values


@pytest.mark.parametrize(("decimal", "values"), [("point", [1234, 12345]), ("comma", [1.234, 12.345])])
def test_a_column_of_ambiguous_numbers_is_refused_with_a_question_about_its_decimal_sign(decimal, values):
    content = b'a,b\nx,"1,234"\nx,"12,345"\n'
    with pytest.raises(Unreadable, match=r"'1,234' may be 1234 or 1\.234; state the decimal sign") as asked:
        inspected(content)
    assert asked.value.column == "b"
    assert [row["b"] for row in rows(content, decimal=decimal)] == values
    thousands = b"a;b\n0,5;1.234\n0,7;2.345\n"
    with pytest.raises(Unreadable, match=r"'1\.234' may be 1\.234 or 1234"):
        inspected(thousands)


@pytest.mark.parametrize(
    ("cells", "question"),
    [
        (["1.234", '"1,234"'], "'1,234' may be 1234 or 1.234"),
        (['"1,234"', "1.234"], "'1,234' may be 1234 or 1.234"),
        (["1.234", '"12,500"'], "'12,500' may be 12500 or 12.500"),
    ],
)
def test_the_question_about_the_decimal_sign_does_not_depend_on_the_order_of_rows(cells, question):
    with pytest.raises(Unreadable) as asked:
        inspected(("a,b\n" + "".join(f"x,{cell}\n" for cell in cells)).encode())
    assert question in str(asked.value)


def test_a_table_with_semicolons_and_points_as_thousands_separators_is_refused_with_a_question():
    content = b"age;income\n34;1.234\n45;2.345\n51;950\n"
    with pytest.raises(Unreadable, match=r"'1\.234' may be 1\.234 or 1234"):
        inspected(content)
    assert [row["income"] for row in rows(content, decimal="comma")] == [1234, 2345, 950]
    assert "signs between thousands" in str(inspected(content, decimal="comma")["notes"])
    assert [row["age"] for row in rows(content.replace(b";", b","))] == [34, 45, 51]


def test_only_a_table_in_which_thousands_separators_were_removed_has_a_note_about_them():
    points, commas = b"a,b\nx,1.234\ny,2.345\n", b'a,b\nx,"1,234"\ny,"2,345"\n'
    assert [row["b"] for row in rows(points)] == [1.234, 2.345]
    assert "signs between thousands" not in str(inspected(points).get("notes"))
    assert [row["b"] for row in rows(commas, decimal="point")] == [1234, 2345]
    assert "signs between thousands" in str(inspected(commas, decimal="point")["notes"])


def test_a_named_decimal_sign_changes_only_columns_that_it_fits():
    content = b'a,b,c\n1.5,"1,234",x\n2.25,"2,345",y\n'
    assert rows(content, decimal="comma") == ({"a": 1.5, "b": 1.234, "c": "x"}, {"a": 2.25, "b": 2.345, "c": "y"})


def test_a_cell_of_many_digits_that_is_no_number_is_read_in_linear_time():
    content = b"a\n" + b"".join(b"+" + b"1" * 9_990 + b"x\n" for _ in range(20))
    start = time.process_time()
    assert inspected(content)["columns"][0]["type"] == "text"
    assert time.process_time() - start < 2  # five such cells took 10 s


def test_a_utf_8_byte_order_mark_overrides_a_named_encoding_and_utf_16_needs_its_mark():
    assert [row["a"] for row in rows("\ufeffa\né\n".encode(), encoding="windows-1252")] == ["é"]
    with pytest.raises(Unreadable, match="UTF-16"):
        inspected(b"a\n1\n", encoding="utf-16")


def test_a_header_of_80_kb_is_split_at_its_semicolons():
    header = ";".join(f"{'x' * 190}{number}" for number in range(400))
    assert len(inspected((header + "\n" + ";".join(["1"] * 400) + "\n").encode())["columns"]) == 400


@pytest.mark.parametrize("line", ["sep=\r\n", 'sep="\n', "sep=1\n"])
def test_a_csv_file_whose_line_sep_names_an_unusual_separator_is_refused(line):
    with pytest.raises(Unreadable):
        inspected(f"{line}a,b\n1,2\n".encode())


def test_a_stored_table_that_would_be_read_differently_today_is_refused_until_it_is_sent_again():
    file = io.BytesIO(b"a;b\n1;2\n")
    earlier = {"rows": 1, "columns": [{"name": "a;b", "type": "text"}]}
    with pytest.raises(Unreadable, match="send the file again"):
        table.read_rows(file, CSV, earlier, None)


def test_the_summary_of_an_uploaded_table_has_notes_on_how_its_cells_were_interpreted():
    summary = inspected("sep=;\n;sex ;pay\n0;m ;?\n1;f;0,5\n".encode("utf-16"))
    assert summary["encoding"] == "utf-16"
    assert summary["notes"] == [
        "the columns are separated by ';'",
        "the encoding is utf-16",
        "the first column, which has no name and counts the rows, was left out",
        "column 'sex': blanks around 1 values were removed",
        "column 'pay': '?' means a missing value",
        "column 'pay': the comma is the decimal sign",
    ]


def test_the_line_limit_of_a_file_in_utf_16_is_that_of_other_encodings(monkeypatch):
    monkeypatch.setattr(csv_rows, "LONGEST_LINE_BYTES", 1000)
    with pytest.raises(Unreadable, match="a line of more") as refused:
        inspected(("a\n1\n" + "x" * 500_000 + "\n").encode("utf-16"))
    assert refused.value.line == 3


# ---------------------------------------------------------------------------- Parquet
@pytest.fixture
def parquet():
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs the extra 'real'")
    from pyarrow import parquet

    def write(columns, **options) -> bytes:
        file = io.BytesIO()
        parquet.write_table(arrow.table(columns), file, **options)
        return file.getvalue()

    write.arrow = arrow
    return write


def test_rows_of_a_parquet_file_keep_their_types(parquet):
    content = parquet(
        {
            "n": [1, None],
            "x": [0.5, float("nan")],
            "yes": [True, False],
            "note": ["a", ""],
            "group": parquet.arrow.array(["m", "f"]).dictionary_encode(),
            "money": [Decimal("1.25"), None],
        }
    )
    assert rows(content, PARQUET) == (
        {"n": 1, "x": 0.5, "yes": True, "note": "a", "group": "m", "money": 1.25},
        {"n": None, "x": None, "yes": False, "note": "", "group": "f", "money": None},
    )
    kinds = [one["type"] for one in inspected(content, media_type=PARQUET)["columns"]]
    assert kinds == ["integer", "number", "boolean", "text", "text", "number"]


@pytest.mark.parametrize(
    ("columns", "line", "column"),
    [
        ({"a": [[1, 2]]}, None, "a"),
        ({"a": [{"b": 1}]}, None, "a"),
        ({"a": [b"bytes"]}, None, "a"),
        ({"a": [1.0, float("inf")]}, 2, "a"),
        ({"a": [1, 2**60]}, 2, "a"),
        ({"a": ["x", "=1+1"]}, 2, "a"),
        ({"a": ["x", "y" * (LONGEST_CELL + 1)]}, 2, "a"),
        ({"=a": [1]}, 1, None),
    ],
)
def test_invalid_parquet_is_refused_with_row_and_column(parquet, columns, line, column):
    with pytest.raises(Unreadable) as caught:
        inspected(parquet(columns), media_type=PARQUET)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_times_with_nanoseconds_become_text_with_nine_decimals(parquet):
    arrow = parquet.arrow
    moments = [1_600_000_000_123_456_789, 1_600_000_000_000_000_000, None]
    content = parquet(
        {
            "moment": arrow.array(moments, arrow.timestamp("ns")),
            "zoned": arrow.array(moments, arrow.timestamp("ns", "UTC")),
            "time": arrow.array([3_723_000_000_001, 0, None], arrow.time64("ns")),
        }
    )
    assert rows(content, PARQUET) == (
        {
            "moment": "2020-09-13T12:26:40.123456789",
            "zoned": "2020-09-13T12:26:40.123456789+00:00",
            "time": "01:02:03.000000001",
        },
        {"moment": "2020-09-13T12:26:40", "zoned": "2020-09-13T12:26:40+00:00", "time": "00:00:00"},
        {"moment": None, "zoned": None, "time": None},
    )
    before = parquet({"moment": arrow.array([-1], arrow.timestamp("ns"))})
    assert rows(before, PARQUET) == ({"moment": "1969-12-31T23:59:59.999999999"},)


def test_a_value_that_cannot_be_read_is_refused_with_its_row_and_column(parquet):
    arrow = parquet.arrow
    year_0 = arrow.array([0, -719_530], arrow.int32()).cast(arrow.date32())
    broken = arrow.Array.from_buffers(
        arrow.string(), 2, arrow.array([b"ok", b"\xff\xfe"], arrow.binary()).buffers()
    )  # fmt: skip
    far = arrow.array([0, 2**62], arrow.int64()).cast(arrow.timestamp("ms"))
    for values, message in ((year_0, "date32"), (broken, "UTF-8"), (far, "timestamp")):
        with pytest.raises(Unreadable, match=message) as refused:
            inspected(parquet({"fine": [1, 2], "a": values}), media_type=PARQUET)
        assert (refused.value.line, refused.value.column) == (2, "a")


def test_row_labels_of_a_data_frame_are_left_out_of_a_parquet_file(parquet):
    content = parquet({"a": [1, 2], "__index_level_0__": [5, 7]})
    assert rows(content, PARQUET) == ({"a": 1}, {"a": 2})
    assert inspected(content, media_type=PARQUET)["notes"] == [
        "the column '__index_level_0__' of row labels was left out"
    ]


def test_string_views_of_a_parquet_file_are_read_as_text(parquet):
    views = parquet.arrow.array(["x", "a text of more than twelve bytes"]).cast(parquet.arrow.string_view())
    assert [row["a"] for row in rows(parquet({"a": views}), PARQUET)] == ["x", "a text of more than twelve bytes"]


def test_damaged_parquet_file_is_either_read_or_raises_unreadable(parquet):
    whole = parquet({"a": list(range(2_000)), "b": ["text"] * 2_000})
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        try:
            inspected(damaged, media_type=PARQUET)
        except Unreadable:
            continue  # some damaged values are still valid values


def test_parquet_file_that_is_too_large_by_its_metadata_is_refused(parquet, monkeypatch):
    many = parquet({"a": [0] * (MOST_ROWS + 1)}, compression="zstd")
    with pytest.raises(Unreadable, match="rows"):
        inspected(many, media_type=PARQUET)
    monkeypatch.setattr(parquet_rows, "MOST_UNPACKED_BYTES", 10_000)
    large = parquet({"a": [f"{number} of the texts" for number in range(1_000)]}, compression="zstd")
    with pytest.raises(Unreadable, match="unpacks to"):
        inspected(large, media_type=PARQUET)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "shift-jis"])
def test_a_table_whose_lines_end_with_carriage_returns_alone_is_read_line_by_line(encoding):
    """Excel writes it as "CSV (Macintosh)"."""
    rows = [
        ("a", "ü" if encoding == "utf-8" else "ソ"),
        ('"x\ry"', "1"),
        *[("b", str(number)) for number in range(40_000)],
    ]
    content = "".join(f"{first};{second}\r" for first, second in rows).encode(encoding)
    read = csv_rows.CsvRows(io.BytesIO(content), None if encoding == "utf-8" else encoding)
    numbered = list(read)
    assert read.columns == rows[0]
    assert (numbered[0], len(numbered)) == ((3, ["x\ry", "1"]), 40_001)
    assert numbered[-1] == (40_003, ["b", "39999"])


def test_a_line_that_ends_with_a_carriage_return_is_limited_in_length(monkeypatch):
    monkeypatch.setattr(csv_rows, "LONGEST_LINE_BYTES", 1000)
    content = b"a\r" + b"x" * 100_000
    with pytest.raises(Unreadable, match="a line of more than 1,000 bytes") as caught:
        list(csv_rows.CsvRows(io.BytesIO(content)))
    assert caught.value.line == 2
