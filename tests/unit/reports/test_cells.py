"""Tests of table cells: all numbers of a column are rounded to the same decimals."""

from __future__ import annotations

import pytest

from assay.document import Absent, EffectDocument
from reports import cells


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ((893.03, 1142.17), ("893", "1,142")),
        ((10038, 9962), ("10,038", "9,962")),
        ((0.0438, 0.0499), ("0.0438", "0.0499")),
        ((0.95984, 1.07), ("0.960", "1.070")),
        ((23.4, -5.06), ("23.4", "-5.1")),
        ((3, 12), ("3", "12")),
        ((0.0, 0.0), ("0", "0")),
        ((9.94e-05, 0.0), ("9.94e-05", "0")),
        ((-0.0004, 0.5), ("0.000", "0.500")),
    ],
)
def test_numbers_in_a_table_column_are_rounded_to_the_decimals_that_suit_the_largest(values, written):
    assert cells.numbers(values) == written


def test_an_absent_number_shows_its_reason_or_a_dash():
    values = (0.25, Absent("all outputs are 1"), EffectDocument(why="too few"), Absent(), None)
    assert cells.numbers(values) == ("0.250", "all outputs are 1", "too few", "–", "–")


def test_intervals_are_rounded_with_their_estimates():
    effects = (EffectDocument(0.5, 0.25, 0.875), EffectDocument(None, -0.5, 0.1), EffectDocument(why="too few"), None)
    assert cells.intervals(effects) == ("0.500 (0.250 to 0.875)", "(-0.500 to 0.100)", "too few", "–")


def test_a_p_value_is_never_written_as_zero():
    assert cells.p_values((2e-31, 0.0, 0.0489, 1.0)) == ("<0.001", "<0.001", "0.049", "1.000")
