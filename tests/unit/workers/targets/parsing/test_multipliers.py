"""Amounts such as "5 thousand" in any script: the number must not be read without its multiplier."""

import pytest

from workers.targets.parsing.written_numbers import FORMS, written_number


@pytest.mark.parametrize(
    "text", ["5万", "3億", "5 тыс", "5 млн", "5 tys.", "5 lacs", "5 Hundert", "2만원", "5 mln", "3 crores"]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_number_followed_by_a_word_or_sign_for_thousands_or_millions_is_not_read(text, form):
    assert written_number(text, form) is None


@pytest.mark.parametrize("text", ["99 cents", "1 cent", "50 pence", "50 centimes", "99 ct", "5 tens", "3 pairs"])
@pytest.mark.parametrize("form", FORMS)
def test_a_number_of_cents_pairs_or_tens_is_not_read_as_a_number_of_whole_units(text, form):
    assert written_number(text, form) is None


@pytest.mark.parametrize(
    ("text", "number"), [("5円", 5.0), ("5 km", 5.0), ("5 zł", 5.0), ("5元", 5.0), ("50000 gross", 50000.0)]
)
def test_a_number_followed_by_a_unit_of_any_script_is_read_without_the_unit(text, number):
    assert written_number(text, "decimal-point") == number
