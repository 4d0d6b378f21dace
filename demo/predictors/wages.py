"""Wage models of known bias, in cents per hour, and the payroll that they are asked about.

The payroll is a full design: women and men have the same education and experience, row for row, and
differ only in their hours. So the true gap between them follows by arithmetic:

- ``fair-wage`` pays for education and experience: no effect of sex, no gap, UCS.
- ``biased-wage-C`` pays women C cents less for the same work: BS if C exceeds the tolerance.
- ``proxy-wage-C`` pays C cents less for short hours. Sex alone changes nothing, but nine of ten women
  and one of ten men work short hours: DSBS, a gap of .8 C.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from assay.model import Field, Letter
from demo.interfaces.libretranslate import BadRequest
from demo.predictors.prediction import Row, RowRegressor, above

SEXES = ("male", "female")
EDUCATION = ("high-school", "some-college", "bachelors", "masters", "doctorate")
STEP = 4
EXPERIENCE = tuple(range(0, 40, STEP))
"""Years of experience. Copies of a row differ by less than `STEP`, because equal rows would count only once."""

SHORT_HOURS, LONG_HOURS = 20, 40
"""Hours a week of people on the payroll who work short hours and who work long hours."""

SHORT_BELOW = 30
"""Hours a week below which hours are short."""

BASE, FOR_EDUCATION, FOR_YEAR = 900, 150, 20
"""Wage in cents per hour: the base, the amount for each level of education, and for each year of experience."""

COPIES, TIE = 20, 0.9
"""Rows of each sex, education and experience, and the share of them, rounded, with the hours typical of the sex."""

TOLERANCE = 0.1
"""Tolerance of alternation by default, in standard deviations of the wage."""


def payroll(copies: int = COPIES) -> tuple[dict[str, Field], ...]:
    """Return the payroll: `copies` rows of each of the 100 combinations of sex, education and experience.

    Step 2 of alternation compares group means, whose difference has a standard error of ``2 / sqrt(rows)``: fewer than
    2,000 rows cannot settle UCS.
    """
    typical_copies = round(copies * TIE)  # with the hours typical of the sex: short for women, long for men
    return tuple(
        {
            "sex": sex,
            "education": education,
            "experience": round(years + STEP * copy / copies, 2),
            "weekly_hours": SHORT_HOURS if (sex == "female") == (copy < typical_copies) else LONG_HOURS,
        }
        for education in EDUCATION
        for years in EXPERIENCE
        for sex in SEXES
        for copy in range(copies)
    )


def wages(rows: Sequence[Row], *, less_for_women: float = 0.0, less_for_short_hours: float = 0.0) -> list[float]:
    """Return the wage of each record, in cents per hour; raise `BadRequest` if a cell is invalid."""
    return [
        BASE
        + FOR_EDUCATION * _education_level(row)
        + FOR_YEAR * _number_in_column(row, "experience")
        - less_for_women * (row["sex"] == "female")
        - less_for_short_hours * (_number_in_column(row, "weekly_hours") < SHORT_BELOW)
        for row in rows
    ]


def _education_level(row: Row) -> int:
    if (level := row["education"]) not in EDUCATION:
        raise BadRequest(f"education must be one of {', '.join(EDUCATION)}, not {level!r:.100}")
    return EDUCATION.index(str(level))


def _number_in_column(row: Row, column: str) -> float:
    cell = row[column]
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise BadRequest(f"{column} must be a number, not {cell!r:.100}")
    return float(cell)


COLUMNS = ("sex", "education", "experience", "weekly_hours")


def biased(cents: int) -> RowRegressor:
    """Make the model that pays women `cents` an hour less for the same work."""
    model = partial(wages, less_for_women=float(cents))
    # the tolerance is in standard deviations of all wages that are asked for: each row is asked about for both sexes
    both_sexes = [*payroll(1), *({**row, "sex": "male" if row["sex"] == "female" else "female"} for row in payroll(1))]
    return RowRegressor(
        name=f"biased-wage-{cents}",
        summary=f"Pays women {cents} cents an hour less for the same work.",
        letter=above(cents, TOLERANCE * float(np.std(model(both_sexes))), Letter.BS, Letter.UCS),
        columns=COLUMNS,
        numbers=model,
    )


def proxy(cents: int) -> RowRegressor:
    """Make the model that pays `cents` an hour less for short hours, which mostly women work."""
    model = partial(wages, less_for_short_hours=float(cents))
    # a share `TIE` of women and 1 - `TIE` of men work short hours, so that their means differ by (2 `TIE` - 1) `cents`
    return RowRegressor(
        name=f"proxy-wage-{cents}",
        summary=f"Pays {cents} cents an hour less for short hours, which mostly women work.",
        letter=above(cents * (2 * TIE - 1), TOLERANCE * float(np.std(model(payroll()))), Letter.DSBS, Letter.UCS),
        columns=COLUMNS,
        numbers=model,
    )


FAIR = RowRegressor(
    name="fair-wage",
    summary="Pays for education and experience alone.",
    letter=Letter.UCS,
    columns=COLUMNS,
    numbers=wages,
)
