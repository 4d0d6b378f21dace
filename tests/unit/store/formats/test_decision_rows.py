"""Files of decisions: counted once, with errors that name the row."""

import io

import numpy as np
import pytest

from assay.errors import SpecificationError, UnknownName
from assay.methods.shared.outcome_tables.decision_table import DecisionTable
from store.formats import CSV, PARQUET, Unreadable
from store.formats.decision_rows import as_text, read_decisions

HEADER = b"name,sex,hired,score,weight\n"


def read(content: bytes, columns=("sex", "hired"), media_type=CSV, **more) -> DecisionTable:
    return DecisionTable.read(read_decisions(io.BytesIO(content), media_type, columns, **more))


def test_a_file_of_decisions_is_read_as_counts_of_people_by_the_chosen_columns_without_other_columns():
    table = read(HEADER + b"Ann,F,yes,1,1\nBob,M,no,2,1\nEve,F,yes,3,1\nKim,,no,4,1\n")
    sexes, hired = ([(*column.values, None)[code] for code in column.codes] for column in table.columns)
    assert sorted(zip(table.counts, map(str, sexes), hired, strict=True)) == [
        (1, "M", "no"),
        (1, "None", "no"),
        (2, "F", "yes"),
    ]
    assert table.rows == 4
    assert "Ann" not in repr(table)


def test_values_that_differ_only_in_surrounding_blanks_or_unicode_form_are_equal():
    table = read("sex,hired\n F ,yes\nF,Caf\u00e9\nF,Cafe\u0301\n".encode())
    assert [column.values for column in table.columns] == [("F",), ("yes", "Café")]


@pytest.mark.parametrize(
    ("cell", "text"), [(True, "true"), (False, "false"), (3.0, "3"), (2.5, "2.5"), (7, "7"), (None, ""), (" a ", "a")]
)
def test_a_number_or_truth_value_in_a_table_matches_the_text_by_which_a_request_names_it(cell, text):
    assert as_text(cell) == text


def test_a_parquet_file_of_decisions_gives_the_same_counts_as_the_same_table_in_csv():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is one of the optional packages (extra `real`)")
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(
        pa.table({"sex": ["F", "M", None], "hired": [True, False, True], "score": [1.0, None, 2.5]}), file
    )
    of_parquet = read(file.getvalue(), media_type=PARQUET, score="score")
    of_csv = read(b"sex,hired,score\nF,true,1\nM,false,\n,true,2.5\n", score="score")
    assert of_parquet.counts == of_csv.counts
    assert of_parquet.scores == of_csv.scores
    assert of_parquet.columns == of_csv.columns


def test_numbers_of_a_parquet_file_are_not_ambiguous_and_truth_values_are_no_numbers():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is one of the optional packages (extra `real`)")
    from pyarrow import parquet

    file = io.BytesIO()
    people = {"sex": ["F", "M"], "score": ["0,5", "0,75"], "weight": [1.0, 1.125], "flag": [True, True]}
    parquet.write_table(pa.table(people), file)
    table = read(file.getvalue(), ("sex",), PARQUET, score="score", weight="weight")
    assert sorted(zip(table.scores, table.weights, strict=True)) == [(0.5, 1.0), (0.75, 1.125)]
    with pytest.raises(Unreadable, match="'true' is not a number"):
        read(file.getvalue(), ("sex",), PARQUET, score="flag")


def test_a_decimal_comma_and_marks_of_missing_values_are_read_as_in_other_tables():
    table = read(b"sex;hired;score\nF;yes;0,5\nM;no;?\nF;no;1,25\n", score="score")
    assert sorted(score for score in table.scores if score is not None) == [0.5, 1.25]
    assert None in table.scores


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        (b"Ann,F,yes,1,1\nBob,M,no,high,1\n", {"score": "score"}, "line 3, column 'score': 'high' is not a number"),
        (
            b"Ann,F,yes,1,1\nBob,M,no,2,-3\n",
            {"weight": "weight"},
            "line 3, column 'weight': '-3' is not a positive number",
        ),
        (b"Ann,F,yes,1,\nBob,M,no,2,1\n", {"weight": "weight"}, "line 2, column 'weight': an empty cell is not"),
        (b"Ann,F,yes,1\n", {}, "line 2: 4 cells, and the header has 5"),
        (b"", {}, "the table has columns but no rows"),
        (b"Ann,F,yes,1,1\n", {"columns": ("gender", "hired")}, "no column of the file is called 'gender'"),
    ],
)
def test_an_invalid_file_of_decisions_is_refused_with_its_row(rows, more, message):
    with pytest.raises(SpecificationError, match=message):
        read(HEADER + rows, **more)


def test_an_unknown_decimal_sign_is_refused_instead_of_ignored():
    with pytest.raises(UnknownName, match="no decimal sign is called ','"):
        read(b"sex;score\nF;1,261\nM;2,500\n", ("sex",), score="score", decimal=",")


def test_a_column_with_more_than_5000_different_values_is_refused_as_a_column_of_groups():
    content = b"name,hired\n" + b"".join(b"person %d,yes\n" % number for number in range(5_100))
    with pytest.raises(Unreadable, match=r"line 5002, column 'name': more than 5,000 different values"):
        read(content, ("name", "hired"))


def test_an_unknown_column_is_named_with_the_nearest_one():
    with pytest.raises(UnknownName, match="did you mean 'hired'"):
        read(HEADER + b"Ann,F,yes,1,1\n", ("sex", "hird"))


def test_a_person_without_a_cluster_is_a_separate_cluster():
    table = read(b"sex,hired,site\nF,yes,a\nM,no,a\nF,no,\nF,yes,\nM,yes,b\n", cluster="site")
    assert table.clusters == 4
    assert np.bincount(table.bundles, table.counts).tolist() == [2, 1, 1, 1]


@pytest.mark.slow
def test_a_million_people_are_counted_with_little_processor_time_and_memory():
    """The limit is generous: 4 s and 240 MB of this process were measured."""
    import resource
    import time

    rng = np.random.default_rng(0)
    lines = [b"sex,race,job,hired,stayed,score"]
    members = rng.integers(0, (2, 7, 12, 2, 2, 10_000), (1_000_000, 6)).tolist()
    lines += [b"s%d,r%d,j%d,h%d,t%d,.%04d" % tuple(row) for row in members]
    file = io.BytesIO(b"\n".join(lines))
    del members, lines
    before = time.process_time()
    table = DecisionTable.read(
        read_decisions(file, CSV, ("sex", "race", "job", "hired", "stayed"), score="score", on_rows=lambda _: None)
    )
    assert time.process_time() - before < 40
    assert table.rows == 1_000_000
    assert len(table.counts) <= 100_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20
