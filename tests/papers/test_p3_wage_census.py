"""Alelyani (2021), section 4: wages of the KDD census, predicted with the attribute swapped.

A polynomial regression is trained in ten folds; each record is then predicted as it is and with its sex
(or race) changed. The paper prints women's mean prediction rising from 900 to 1180 and men's falling from
1150 to 850 (cents per hour), and a divergence of about .86.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from assay.methods.alternation.gaussian_divergence import (
    Fold,
    gaussian_kl,
    gaussian_kl_interval,
    kl_by_fold,
    kl_of_folds,
)
from assay.statistics.hypothesis_tests.paired import sign_flip_test

CENSUS = Path(__file__).resolve().parents[3] / "shared" / "data" / "kdd_census"

EDUCATION = (
    "High school graduate",
    "Some college but no degree",
    "Bachelors degree(BA AB BS)",
    "Masters degree(MA MS MEng MEd MSW MBA)",
    "Doctorate degree(PhD EdD)",
)
FEATURES = (
    "class_worker", "education", "marital_stat", "major_ind_code", "major_occ_code",
    "race", "sex", "citizenship", "age", "num_emp",
)  # fmt: skip
WITH_WEEKS = tuple("weeks_worked" if name == "citizenship" else name for name in FEATURES)

WOMEN, MEN = 0, 1
FOLDS = 10


@dataclass(frozen=True)
class Wages:
    """Codes of categories (in alphabetical order) and numbers by column, and the wage in cents per hour."""

    columns: dict[str, np.ndarray]
    wage: np.ndarray
    races: tuple[str, ...]

    def matrix(self, features: tuple[str, ...]) -> np.ndarray:
        return np.stack([self.columns[name] for name in features], axis=1).astype(float)


@dataclass(frozen=True)
class Predicted:
    """Predictions of each record with every value of the attribute, its own value, and its fold."""

    table: np.ndarray
    own: np.ndarray
    fold: np.ndarray

    def swapped(self, of: int, to: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predictions of a group as it is and as another, with their folds."""
        held = self.own == of
        return self.table[held, of], self.table[held, to], self.fold[held]

    def folds(self, of: int, to: int) -> list[Fold]:
        return kl_of_folds(*self.swapped(of, to))


@pytest.fixture(scope="module")
def wages() -> Wages:
    parquet = pytest.importorskip("pyarrow.parquet", reason="tables in Parquet need pyarrow (the extra 'real')")
    if not CENSUS.is_dir():
        pytest.skip("the shared census table is not beside this project")
    names = [*dict.fromkeys(FEATURES + WITH_WEEKS), "wage_per_hour"]
    parts = [parquet.read_table(CENSUS / f"{part}.parquet", columns=names) for part in ("train", "test")]
    raw = {name: np.concatenate([np.array(part[name].to_pylist()) for part in parts]) for name in names}
    raw = {name: np.char.strip(one, "' ") if one.dtype.kind == "U" else one for name, one in raw.items()}
    kept = (raw["wage_per_hour"] > 0) & np.isin(raw["education"], EDUCATION)
    raw = {name: one[kept] for name, one in raw.items()}
    coded = {n: np.unique(one, return_inverse=True)[1] if one.dtype.kind == "U" else one for n, one in raw.items()}
    return Wages(coded, raw["wage_per_hour"].astype(float), tuple(np.unique(raw["race"])))


def polynomial(standardised: np.ndarray, degree: int) -> np.ndarray:
    """Constant, linear and, at degree 2, all squares and products."""
    first = np.column_stack([np.ones(len(standardised)), standardised])
    if degree == 1:
        return first
    i, j = np.triu_indices(standardised.shape[1])
    return np.column_stack([first, standardised[:, i] * standardised[:, j]])


def train(features: np.ndarray, wage: np.ndarray, degree: int) -> np.ndarray:
    return np.linalg.lstsq(polynomial(features, degree), wage, rcond=None)[0]


def predict(wages: Wages, features: tuple[str, ...], degree: int, attribute: str = "sex") -> Predicted:
    """Train in shuffled folds; ask each fold's model for its held-out records under every value."""
    matrix, place = wages.matrix(features), features.index(attribute)
    mean, sd = matrix.mean(axis=0), matrix.std(axis=0)
    own = matrix[:, place].astype(int)
    fold = np.random.default_rng(0).permutation(len(own)) % FOLDS
    table = np.zeros((len(own), own.max() + 1))
    for one in range(FOLDS):
        held = fold == one
        weights = train((matrix[~held] - mean) / sd, wages.wage[~held], degree)
        for value in range(table.shape[1]):
            asked = matrix[held].copy()
            asked[:, place] = value
            table[held, value] = polynomial((asked - mean) / sd, degree) @ weights
    return Predicted(table, own, fold)


def mean_kl(folds: list[Fold]) -> float:
    return float(np.mean([fold.kl_xy for fold in folds]))


@pytest.fixture(scope="module")
def linear(wages) -> Predicted:
    return predict(wages, FEATURES, 1)


def test_wage_census_table_has_8414_records(wages):
    assert len(wages.wage) == 8_414
    assert len(wages.races) == 5


# ---------------------------------------------------------------------------- figures 2 and 3: means
@pytest.mark.parametrize(("group", "own", "swapped"), [(WOMEN, 888, 1137), (MEN, 1147, 898)])
def test_changing_the_sex_changes_the_predicted_wage(linear, group, own, swapped):
    x, y, _ = linear.swapped(group, 1 - group)
    assert x.mean() == pytest.approx(own, rel=0.02)
    assert y.mean() == pytest.approx(swapped, rel=0.02)


def test_predicted_wage_is_higher_for_men_in_every_fold(linear):
    assert all(fold.mean_y > fold.mean_x for fold in linear.folds(WOMEN, MEN))
    assert all(fold.mean_y < fold.mean_x for fold in linear.folds(MEN, WOMEN))


def test_predicted_wage_differs_significantly_between_the_sexes(linear):
    x, y, _ = linear.swapped(WOMEN, MEN)
    assert sign_flip_test(y - x, np.random.default_rng(1), draws=999).p == 1 / 1_000


# ---------------------------------------------------------------------------- figure 4: divergence
@pytest.mark.parametrize(("group", "kl"), [(WOMEN, 0.86), (MEN, 0.85)])
def test_divergence_of_the_linear_model_equals_the_papers(linear, group, kl):
    folds = linear.folds(group, 1 - group)
    assert len(folds) == FOLDS
    assert mean_kl(folds) == pytest.approx(kl, abs=0.1)
    assert all(0.6 < fold.kl_xy < 1.1 for fold in folds)  # the folds of the paper range from .76 to 1.04
    x, y, _ = linear.swapped(group, 1 - group)
    interval = gaussian_kl_interval(x, y)
    assert interval.low < mean_kl(folds) < interval.high


def test_other_folds_show_the_same_shift_as_the_training_folds(linear):
    """A service that is asked has no folds of training: its replies are cut at random."""
    x, y, _ = linear.swapped(WOMEN, MEN)
    assert mean_kl(kl_by_fold(x, y, FOLDS, np.random.default_rng(2))) == pytest.approx(0.86, abs=0.1)


@pytest.mark.parametrize(
    ("group", "own", "swapped", "kl", "kl_of_squares"),
    [(WOMEN, 888, 1129, 0.735, 0.46), (MEN, 1147, 907, 0.758, 0.60)],
)
def test_adding_weeks_worked_lowers_the_divergence_but_not_the_shift(wages, group, own, swapped, kl, kl_of_squares):
    """The divergence alone is no size of bias: a better model spreads its predictions."""
    for degree, expected in ((1, kl), (2, kl_of_squares)):
        predicted = predict(wages, WITH_WEEKS, degree)
        x, y, _ = predicted.swapped(group, 1 - group)
        assert x.mean() == pytest.approx(own, rel=0.02)
        assert y.mean() == pytest.approx(swapped, rel=0.02)
        assert mean_kl(predicted.folds(group, 1 - group)) == pytest.approx(expected, abs=0.05)


# ---------------------------------------------------------------------------- step 4: retraining
@pytest.mark.parametrize("degree", [1, 2])
def test_retraining_on_swapped_data_as_step_4_says_finds_nothing_in_any_fold(wages, degree):
    """Swapping a binary attribute everywhere only renames it, so a retrained model predicts the very same.

    A black box is therefore asked again, never retrained.
    """
    matrix, place = wages.matrix(FEATURES), FEATURES.index("sex")
    swapped = matrix.copy()
    swapped[:, place] = 1 - swapped[:, place]
    fold = np.random.default_rng(0).permutation(len(matrix)) % FOLDS
    predicted = np.zeros((2, len(matrix)))
    for which, table in enumerate((matrix, swapped)):
        standard = (table - table.mean(axis=0)) / table.std(axis=0)
        for one in range(FOLDS):
            weights = train(standard[fold != one], wages.wage[fold != one], degree)
            predicted[which, fold == one] = polynomial(standard[fold == one], degree) @ weights
    for group in (WOMEN, MEN):
        held = matrix[:, place] == group
        folds = kl_of_folds(predicted[0, held], predicted[1, held], fold[held])
        assert [fold.kl_xy for fold in folds] == pytest.approx([0.0] * FOLDS, abs=1e-12)
        assert [fold.mean_y for fold in folds] == pytest.approx([fold.mean_x for fold in folds], rel=1e-9)


# ---------------------------------------------------------------------------- figures 5 to 7: race
def test_every_ordered_pair_of_races_has_its_divergence_or_the_reason(wages):
    predicted = predict(wages, FEATURES, 1, "race")
    pairs = list(permutations(range(len(wages.races)), 2))
    assert len(pairs) == 20
    for of, to in pairs:
        x, y, _ = predicted.swapped(of, to)
        assert np.isfinite(gaussian_kl(x, y))
        for fold in predicted.folds(of, to):
            assert (fold.kl_xy is None) == (fold.why is not None)


def test_race_shifts_wages_far_less_than_sex_does(wages, linear):
    predicted = predict(wages, FEATURES, 1, "race")
    largest = max(gaussian_kl(*predicted.swapped(of, to)[:2]) for of, to in permutations(range(5), 2))
    assert largest < 0.1 * gaussian_kl(*linear.swapped(WOMEN, MEN)[:2])
