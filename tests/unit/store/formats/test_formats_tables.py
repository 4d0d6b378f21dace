import io
from decimal import Decimal

import pytest

from assay.experiment import generator
from store import formats
from store.formats import CSV, PARQUET, Unreadable, parquet_rows, table
from store.formats.csv_rows import LONGEST_CELL, LONGEST_LINE_BYTES, MOST_COLUMNS, MOST_ROWS, is_formula


def inspected(content: bytes, purpose: str = "table", media_type: str = CSV):
    return formats.inspect(io.BytesIO(content), purpose, media_type)


def types(content: bytes) -> dict[str, str]:
    return {one["name"]: one["type"] for one in inspected(content)["columns"]}


def rows(content: bytes, media_type: str = CSV):
    file = io.BytesIO(content)
    summary = formats.inspect(file, "table", media_type)
    return tuple(table.read_rows(file, media_type, summary, table.sample_of(summary, 1_000, generator(0))))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ("1 -2 +3 0", "integer"),
        ("1 2.5", "number"),
        ("1 -.5 1e3 +0.1E-2", "number"),
        ("1 02", "text"),
        ("1 1234567890123456", "text"),
        ("1 nan", "text"),
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
    assert numbers["values"] == [{"value": 1.0, "count": 60}]


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
        ("a=b", False),
        ("", False),
    ],
)
def test_spreadsheet_formulas_are_refused_and_other_cells_are_not(cell, formula):
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
        (b"a;b;c\n1;2;3\n", "commas", 1, None),
        (b'a\n"open', "not CSV", 2, None),
        (b'a\n"x"y\n', "not CSV", 2, None),
        (b"a\r1\r2\r", "not CSV", 1, None),
        (b"a\n", "no rows", None, None),
        (b"\n", "no row|name", None, None),
        (b"\xff\xfea\x00", "UTF-16", None, None),
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
def test_invalid_trials_are_refused_with_line_and_column(content, line, column):
    with pytest.raises(Unreadable) as caught:
        inspected(content, "trials")
    assert (caught.value.line, caught.value.column) == (line, column)


def test_three_formats_of_trials_give_the_same_counts():
    named = b"concept,level,chose\nnurse,0.5,first\nnurse,0.5,second\n"
    numbered = b"concept,level,chose_second\nnurse,0.5,0\nnurse,0.50,1\n"
    counted = b"level,concept,trials,chose_second\n.5,nurse,2,1\n"
    read = [formats.choice_rows.read_trials(io.BytesIO(each)) for each in (named, numbered, counted)]
    assert read == [[{"concept": "nurse", "level": 0.5, "chose_second": 1, "trials": 2}]] * 3


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
    with pytest.raises(Unreadable, match="unpacked"):
        inspected(large, media_type=PARQUET)
