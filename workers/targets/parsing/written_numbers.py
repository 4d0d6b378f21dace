"""Numbers that a service writes as text: "1,234.5", "1.234,5 €", "35.7 %"."""

import math
import re
from typing import Literal

from assay.catalog.answer_text import alternatives, normalise_answer
from assay.catalog.tables import read_table

NumberForm = Literal["decimal-point", "decimal-comma"]
Units = dict[str, str]  # by kind of unit

FORMS: tuple[NumberForm, ...] = ("decimal-point", "decimal-comma")

MAX_NUMBER_CHARACTERS = 60
"""Maximum length of a number with its unit, in characters."""

_NO_UNIT = re.compile(f"{alternatives('numbers', 'multipliers')}|{alternatives('choice', 'denied')}", re.IGNORECASE)

_UNIT, _ASKED = r"(?<![^\W\d_])(?:{})(?![^\W\d_])", r"(?i)(?:\bhow\s+many|\bnumber\s+of|\bin)\s+(?:\w+\s+)?"
"""Patterns of a unit, with a slot for its words or signs, and of words before the unit that a prompt asks for."""

_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
"""A text such as "1.234", which means 1,234 in some languages."""


def _number_pattern(point: str, separators: str) -> re.Pattern[str]:
    """Return the pattern of a number with a decimal `point`, thousands `separators`, and optional sign and unit."""
    # the last group has three digits; others may have two, as in "1,23,456"
    grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}" for mark in map(re.escape, separators))
    amount = rf"(?:{grouped}|\d+)(?:{re.escape(point)}\d*)?|{re.escape(point)}\d+"
    unit = r"[%‰°€$£¥₹₽₩]|[A-Z]{3}|US\$|R\$"
    return re.compile(
        rf"(?P<sign>[+-]?)\s*(?:{unit})?\s*(?P<sign_after>[+-]?)\s*"
        rf"(?P<amount>(?:{amount})(?:[eE][+-]?\d{{1,3}})?)\s*(?P<unit>{unit}|[ck]?m[23]|[^\W\d_]{{1,12}})?\.?"
    )


_PATTERNS = {"decimal-point": _number_pattern(".", ",' _"), "decimal-comma": _number_pattern(",", ".' _")}


def plain_number(text: str) -> float | None:
    """Return a number without unit and separators, as JSON and programs write it; ``None`` for any other text.

    "1.234" is rejected, because it may mean 1,234.
    """
    text = normalise_answer(text).strip()
    if len(text) > MAX_NUMBER_CHARACTERS or not _PLAIN.fullmatch(text) or _THOUSANDS.fullmatch(text):
        return None
    return _finite_or_none(text)


def written_number(text: str, form: NumberForm) -> float | None:
    """Return a number in the declared form, with or without a unit or currency; ``None`` if it is written otherwise.

    A percentage is not divided by 100: "35.7 %" is 35.7. A number before a multiplier ("3k") or a "not" is rejected.
    """
    text = normalise_answer(text).strip()
    match = _PATTERNS[form].fullmatch(text) if len(text) <= MAX_NUMBER_CHARACTERS else None
    if match is None or _NO_UNIT.fullmatch(match["unit"] or "") or (match["sign"] and match["sign_after"]):
        return None
    point = "." if form == "decimal-point" else ","
    kept_characters = (char for char in match["amount"] if char.isalnum() or char in f"{point}+-")  # no separators
    digits = "".join("." if char == point else char for char in kept_characters)
    return _finite_or_none(f"{match['sign']}{match['sign_after']}{digits}")


def numbers_by_form(text: str) -> dict[NumberForm, float]:
    """Return the number that a text means in each form; forms in which it is not a number are left out."""
    numbers = {form: written_number(text, form) for form in FORMS}
    return {form: number for form, number in numbers.items() if number is not None}


def units_in(text: str) -> Units:
    """Return the pattern of the unit that a text names or, of several, asks for, by kind of unit, such as ``time``.

    The pattern is empty if a text names several units and asks for none (as "in months" and "how many months" do).
    """
    units_of_kind = {}
    for kind, patterns in read_table("answers")["units"].items():
        units = [unit for unit in patterns if re.search(f"(?i){_UNIT.format(unit)}", text)]
        asked_units = [unit for unit in units if re.search(_ASKED + _UNIT.format(unit), text)]
        if units:
            candidates = units if len(units) == 1 else asked_units
            units_of_kind[kind] = candidates[0] if len(candidates) == 1 else ""  # empty without a clear unit
    return units_of_kind


def keeps_units(text: str, settled_units: Units) -> bool:
    """Return whether a text has the `settled_units` of earlier texts; if so, add its units of other kinds to them."""
    units = units_in(normalise_answer(text))
    fits = units.items() <= (units | settled_units).items()  # no kind of unit has another unit than before
    settled_units |= units if fits else {}
    return fits


def _finite_or_none(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None
