"""Tests of the wage models: each has its declared bias, computed from the payroll."""

from collections import Counter

import numpy as np
import pytest

from assay.model import Letter
from demo.interfaces.libretranslate import BadRequest
from demo.predictors.known import predictor
from demo.predictors.wages import COLUMNS, SEXES, SHORT_HOURS, payroll

ROWS = payroll()
OTHER = dict(zip(SEXES, reversed(SEXES), strict=True))
SWAPPED = [{**row, "sex": OTHER[row["sex"]]} for row in ROWS]
WOMEN = np.array([row["sex"] == "female" for row in ROWS])


def asked(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the wages for all rows, and for the same rows with the other sex."""
    one = predictor(name)
    return np.array(one.numbers(ROWS)), np.array(one.numbers(SWAPPED))


def gap(name: str) -> float:
    wages, _ = asked(name)
    return float(wages[~WOMEN].mean() - wages[WOMEN].mean())


def test_in_the_demo_payroll_only_the_weekly_hours_depend_on_sex():
    assert len(ROWS) == 2000
    merit = Counter((row["education"], row["experience"], row["sex"]) for row in ROWS)
    assert set(merit.values()) == {1}, "equal rows would count once"
    for place in ("education", "experience"):
        of_sex = [Counter(row[place] for row in ROWS if row["sex"] == sex) for sex in ("female", "male")]
        assert of_sex[0] == of_sex[1]
    short = Counter(row["sex"] for row in ROWS if row["weekly_hours"] == SHORT_HOURS)
    assert short == {"female": 900, "male": 100}


def test_the_fair_demo_wage_model_ignores_sex_and_pays_women_and_men_equally_on_average():
    wages, swapped = asked("fair-wage")
    assert (wages == swapped).all()
    assert gap("fair-wage") == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("cents", [0, 45, 150])
def test_the_biased_wage_model_pays_women_less(cents: int):
    wages, swapped = asked(f"biased-wage-{cents}")
    np.testing.assert_allclose((swapped - wages)[WOMEN], cents)
    np.testing.assert_allclose((swapped - wages)[~WOMEN], -cents)
    assert gap(f"biased-wage-{cents}") == pytest.approx(cents)


@pytest.mark.parametrize("cents", [0, 45, 300])
def test_the_proxy_demo_wage_model_ignores_sex_but_pays_women_and_men_differently_on_average(cents: int):
    wages, swapped = asked(f"proxy-wage-{cents}")
    assert (wages == swapped).all()
    assert gap(f"proxy-wage-{cents}") == pytest.approx(0.8 * cents)


@pytest.mark.parametrize("cents", [0, 20, 30, 40, 150])
def test_the_letter_of_a_demo_wage_model_changes_where_its_bias_crosses_the_tolerance(cents: int):
    wages, swapped = asked(f"biased-wage-{cents}")
    effect = cents / np.concatenate([wages, swapped]).std()
    assert predictor(f"biased-wage-{cents}").letter is (Letter.BS if effect > 0.1 else Letter.UCS)
    beside = gap(f"proxy-wage-{cents}") / np.concatenate(asked(f"proxy-wage-{cents}")).std()
    assert predictor(f"proxy-wage-{cents}").letter is (Letter.DSBS if beside > 0.1 else Letter.UCS)


def test_the_demo_wage_models_cover_the_three_letters():
    names = ("fair-wage", "proxy-wage", "biased-wage")
    assert [predictor(name).letter for name in names] == [Letter.UCS, Letter.DSBS, Letter.BS]


@pytest.mark.parametrize("wrong", [{"education": "none"}, {"experience": "ten"}, {"weekly_hours": True}])
def test_an_invalid_cell_is_refused_and_its_column_is_named(wrong: dict):
    with pytest.raises(BadRequest, match=next(iter(wrong))):
        predictor("fair-wage").numbers([{**ROWS[0], **wrong}])


def test_the_columns_of_the_wage_models_are_those_of_the_payroll():
    assert tuple(ROWS[0]) == COLUMNS
