"""Tests of the strata of records: categories, and numbers split at the median."""

from __future__ import annotations

from collections import Counter

import pytest

from assay.errors import SpecificationError
from assay.experiment import generator
from assay.methods.shared.profiles import RecordProfiles, record_cases, record_strata


def strata_of(cells: list) -> Counter:
    """Return the number of records in each stratum of a column that holds these cells."""
    rows = tuple({"sex": "woman" if place % 2 else "man", "cell": cell} for place, cell in enumerate(cells))
    records = RecordProfiles("sex", ("man", "woman"), rows)
    families, not_within = record_strata(records, record_cases(records, generator(3)), ())
    assert not_within == ()
    return Counter(families["cell"].tolist()) if "cell" in families else Counter()


def test_a_numeric_column_has_two_strata_split_at_its_median():
    assert strata_of(list(range(200))) == {"up to 99.5": 100, "above 99.5": 100}


def test_blank_cells_do_not_change_the_two_strata_of_a_numeric_column():
    few, many = [*range(200), None], [*range(200), *[None] * 40]
    assert strata_of(few) == {"up to 99.5": 100, "above 99.5": 100, "": 1}
    assert strata_of(many) == {"up to 99.5": 100, "above 99.5": 100, "nothing": 40}


def test_null_and_empty_cells_of_a_column_form_a_common_stratum_of_their_own():
    cells = [*["a"] * 60, *["b"] * 60, *[""] * 20, *[None] * 20]
    assert strata_of(cells) == {"a": 60, "b": 60, "nothing": 40}


def test_a_column_with_most_numbers_at_its_maximum_has_a_stratum_below_and_a_stratum_at_the_maximum():
    assert strata_of([*range(80), *[90] * 120]) == {"up to 79": 80, "above 79": 120}


def test_an_integer_too_large_for_a_float_makes_its_column_one_of_categories():
    assert strata_of([*range(60), 10**400]) == Counter()
    assert strata_of([10**400] * 30 + [1] * 30) == {str(10**400): 30, "1": 30}


@pytest.mark.parametrize("values", [(1, "1"), (True, "True"), (None, "None"), (2.5, "2.5"), (1, 1.0), ("m",), ()])
def test_an_attribute_column_of_records_may_not_have_two_values_with_equal_names(values):
    with pytest.raises(SpecificationError) as refused:
        RecordProfiles("sex", values, ({"sex": 1}, {"sex": "1"}))
    assert refused.value.field == "records.values"


def test_a_column_of_two_distinct_numbers_is_treated_as_categories():
    assert strata_of([0, 1] * 50) == {"0": 50, "1": 50}


FORMATS = {
    "number": (str, "99"),
    "ISO": (lambda n: f"{1900 + n}-03-15", "1999-03-15"),
    "ISO with a time": (lambda n: f"{1900 + n}-03-15T10:00:00", "1999-03-15T10:00:00"),
    "German": (lambda n: f"15.03.{1900 + n}", "15.03.1999"),
    "slashes": (lambda n: f"{1900 + n}/03/15", "1999/03/15"),
    "American": (lambda n: f"03/15/{1900 + n}", "03/15/1999"),
    "British": (lambda n: f"15/03/{1900 + n}", "15/03/1999"),
    "words": (lambda n: f"15 March {1900 + n}", "15 March 1999"),
    "decimal comma": (lambda n: f"{n / 1000:.3f}".replace(".", ","), "0,099"),
    "thousands": (lambda n: f"${1000 * n + 1000:,}", "$100,000"),
    "unit": (lambda n: f"{n} kg", "99 kg"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_and_dates_written_as_text_are_split_into_two_strata_at_their_median(name):
    write, limit = FORMATS[name]
    found = strata_of([*(write(number) for number in range(200)), *["unknown"] * 10, "", None])
    assert found == {f"up to {limit}": 100, f"above {limit}": 100, "": 12}


def test_text_with_few_categories_has_a_stratum_for_each_and_text_with_many_has_none():
    assert strata_of(["1", "2", "3"] * 40) == {"1": 40, "2": 40, "3": 40}
    assert strata_of([f"name {place}" for place in range(200)]) == {}
    assert strata_of([*map(str, range(170)), *(f"none {place}" for place in range(30))]) == {}
