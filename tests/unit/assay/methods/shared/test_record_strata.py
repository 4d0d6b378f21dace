"""Tests of the strata of records: categories, and halves of numbers."""

from __future__ import annotations

from collections import Counter

from assay.experiment import generator
from assay.methods.shared.profiles import RecordProfiles, record_cases, record_strata


def strata_of(cells: list) -> Counter:
    """Return the number of records in each stratum of a column that holds these cells."""
    rows = tuple({"sex": "woman" if place % 2 else "man", "cell": cell} for place, cell in enumerate(cells))
    records = RecordProfiles("sex", ("man", "woman"), rows)
    families, not_within = record_strata(records, record_cases(records, generator(3)), ())
    assert not_within == ()
    return Counter(families["cell"].tolist()) if "cell" in families else Counter()


def test_numbers_have_two_halves():
    assert strata_of(list(range(200))) == {"up to 99.5": 100, "above 99.5": 100}


def test_blanks_among_numbers_leave_the_halves_as_they_are():
    few, many = [*range(200), None], [*range(200), *[None] * 40]
    assert strata_of(few) == {"up to 99.5": 100, "above 99.5": 100, "": 1}
    assert strata_of(many) == {"up to 99.5": 100, "above 99.5": 100, "nothing": 40}


def test_numbers_that_are_cut_off_at_their_median_have_those_below_and_those_at_the_limit():
    assert strata_of([*range(80), *[90] * 120]) == {"up to 79": 80, "above 79": 120}


def test_two_numbers_are_categories():
    assert strata_of([0, 1] * 50) == {"0": 50, "1": 50}


def test_numbers_and_dates_that_are_written_as_text_have_two_halves():
    assert strata_of([str(number) for number in range(200)]) == {"up to 99": 100, "above 99": 100}
    days = [f"{1950 + place // 2}-0{1 + place % 2}-15" for place in range(200)]
    assert strata_of([*days, "", None]) == {"up to 1999-02-15": 100, "above 1999-02-15": 100, "": 2}


def test_text_of_few_categories_stays_so_and_text_of_many_has_no_strata():
    assert strata_of(["1", "2", "3"] * 40) == {"1": 40, "2": 40, "3": 40}
    assert strata_of([f"name {place}" for place in range(200)]) == {}
    assert strata_of([*map(str, range(199)), "nan"]) == {}
