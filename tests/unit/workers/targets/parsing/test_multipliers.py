"""Amounts whose size a word or sign changes: their number alone must not be read."""

import pytest

from workers.targets.parsing.written_numbers import FORMS, written_number


@pytest.mark.parametrize(
    "text", ["5万", "3億", "5 тыс", "5 млн", "5 tys.", "5 lacs", "5 Hundert", "2만원", "5 mln", "3 crores"]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_multiplier_of_any_script_is_no_unit(text, form):
    assert written_number(text, form) is None


@pytest.mark.parametrize(("text", "number"), [("5円", 5.0), ("5 km", 5.0), ("5 zł", 5.0), ("5元", 5.0)])
def test_a_unit_of_any_script_is_left_out(text, number):
    assert written_number(text, "decimal-point") == number
