"""Alelyani (2021), section 6: wages of the KDD census, predicted with sex or race swapped.

A polynomial regression is trained in ten folds; each held-out record is then predicted with its own and with another
value. The paper's step 4, retraining, is left out, because a black box can be asked again but not retrained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from assay.methods.alternation.gaussian_divergence import Fold, gaussian_kl, kl_of_folds
from reports import charts
from reports.view import Curve, Lines, Table
from tools.papers import printed
from tools.papers.exhibits import Absent, Exhibit, Line, Paper
from tools.papers.shared_data import Shared, SharedDataMissing

Floats = NDArray[np.float64]

EDUCATION = (
    "High school graduate",
    "Some college but no degree",
    "Bachelors degree(BA AB BS)",
    "Masters degree(MA MS MEng MEd MSW MBA)",
    "Doctorate degree(PhD EdD)",
)
FEATURES = (
    *("class_worker", "education", "marital_stat", "major_ind_code", "major_occ_code"),
    *("race", "sex", "citizenship", "age", "num_emp"),
)
WITH_WEEKS = tuple("weeks_worked" if name == "citizenship" else name for name in FEATURES)
"""Alternative to `FEATURES`: the paper does not name its ten attributes; means of both are near the printed ones."""

RACES = ("American Indian", "Asian", "Black", "Other", "White")
"""Short names in the order of the census's own names."""

SEXES = ("women", "men")
FOLDS = 10

FEATURES_UNKNOWN = "the paper does not name its ten attributes or the degree of its polynomial"
LINEAR = "race is one number in a linear model, so that every move goes up or down with the alphabet"


@dataclass(frozen=True)
class Wages:
    """Codes of categories (in alphabetical order) and numbers by column, and the wage in cents an hour."""

    columns: Mapping[str, NDArray[np.int64]]
    wage: Floats

    def matrix(self, features: tuple[str, ...]) -> Floats:
        """Return the columns side by side, shape (records, features)."""
        return np.stack([self.columns[name] for name in features], axis=1).astype(float)


@dataclass(frozen=True)
class Predictions:
    """Predictions of each record under every value of the attribute; the record's own value; the record's fold."""

    table: Floats
    own: NDArray[np.int64]
    fold: NDArray[np.int64]

    def swapped(self, group: int, value: int) -> tuple[Floats, Floats]:
        """Return the predictions for the records of `group` with their own value and with `value`."""
        rows = self.own == group
        return self.table[rows, group], self.table[rows, value]

    def folds(self, group: int, value: int) -> list[Fold]:
        """Return, by fold, the divergences between a group's predictions with its own value and with `value`."""
        return kl_of_folds(*self.swapped(group, value), self.fold[self.own == group])

    def mean_kl(self, group: int, value: int) -> float:
        """Return the divergence averaged over the folds, from own to swapped; nan if a fold has none."""
        return float(np.mean([np.nan if fold.kl_xy is None else fold.kl_xy for fold in self.folds(group, value)]))

    def move(self, group: int, value: int) -> str:
        """Return "rises" or "falls": what a group's mean prediction does if its value is changed to `value`."""
        as_is, swapped = self.swapped(group, value)
        return "rises" if swapped.mean() > as_is.mean() else "falls"


@cache
def wages(shared: Shared) -> Wages:
    """Read the records with a wage and one of the paper's five levels of education.

    Raises
    ------
    SharedDataMissing
        If the table is missing, or pyarrow, which reads it, is not installed.
    """
    folder = shared.data("kdd_census")
    try:
        from pyarrow.parquet import read_table  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError as missing:
        raise SharedDataMissing("the census table is in Parquet, which needs pyarrow (the extra 'real')") from missing
    names = [*dict.fromkeys(FEATURES + WITH_WEEKS), "wage_per_hour"]
    tables = [read_table(folder / f"{part}.parquet", columns=names) for part in ("train", "test")]
    columns = {name: np.concatenate([np.array(part[name].to_pylist()) for part in tables]) for name in names}
    columns = {name: np.char.strip(col, "' ") if col.dtype.kind == "U" else col for name, col in columns.items()}
    is_used = (columns["wage_per_hour"] > 0) & np.isin(columns["education"], EDUCATION)
    columns = {name: col[is_used] for name, col in columns.items()}
    codes = {
        name: np.unique(col, return_inverse=True)[1] if col.dtype.kind == "U" else col for name, col in columns.items()
    }
    return Wages(codes, columns["wage_per_hour"].astype(float))


def _polynomial(standardised: Floats, degree: int) -> Floats:
    """Return the constant, the linear terms and, at degree 2, all squares and products."""
    linear = np.column_stack([np.ones(len(standardised)), standardised])
    if degree == 1:
        return linear
    i, j = np.triu_indices(standardised.shape[1])
    return np.column_stack([linear, standardised[:, i] * standardised[:, j]])


@cache
def predict(
    shared: Shared, features: tuple[str, ...] = FEATURES, degree: int = 1, attribute: str = "sex"
) -> Predictions:
    """Fit wages in shuffled folds; predict those of each fold's held-out records with every value of the attribute."""
    census = wages(shared)
    matrix, column = census.matrix(features), features.index(attribute)
    mean, sd = matrix.mean(axis=0), matrix.std(axis=0)
    values = matrix[:, column].astype(int)
    fold_of_record = np.random.default_rng(0).permutation(len(values)) % FOLDS
    table = np.zeros((len(values), values.max() + 1))
    for fold in range(FOLDS):
        held_out = fold_of_record == fold
        design = _polynomial((matrix[~held_out] - mean) / sd, degree)
        weights = np.linalg.lstsq(design, census.wage[~held_out], rcond=None)[0]
        for value in range(table.shape[1]):
            swapped = matrix[held_out].copy()
            swapped[:, column] = value
            table[held_out, value] = _polynomial((swapped - mean) / sd, degree) @ weights
    return Predictions(table, values, fold_of_record)


def race_moves(shared: Shared) -> dict[tuple[str, str], str]:
    """Return whether the mean prediction rises or falls for each change that the paper reports."""
    predictions = predict(shared, attribute="race")
    return {move: predictions.move(*map(RACES.index, move)) for move in printed.RACE_MOVES}


# ---------------------------------------------------------------------------- the page
def paper(shared: Shared) -> Paper:
    """Compute everything of the paper that can be computed here."""
    exhibits = (_records(shared), *(_sex(shared, place) for place in (0, 1)), _kl(shared), _race(shared))
    absent = (
        Absent("Digits of figures 2 to 7", "printed as pictures; the text tells the means and where race moves them"),
        Absent("Step 4, retraining on swapped data", "renames a column, so that every divergence is exactly 0"),
    )
    return Paper("P3", printed.P3, exhibits, absent)


def _records(shared: Shared) -> Exhibit:
    why = "records with a wage and one of the five levels of education; the paper's other criteria are not told"
    line = Line("records", printed.RECORDS, float(len(wages(shared).wage)), why, digits=0)
    return Exhibit("Section 6.1: records", "Rows of the census that are used.", (line,))


def _sex(shared: Shared, sex: int) -> Exhibit:
    predicted, group = predict(shared), SEXES[sex]
    as_is, swapped = predicted.swapped(sex, 1 - sex)
    lines = tuple(
        Line(f"{group}, {name}", printed.WAGES[group, name], float(values.mean()), FEATURES_UNKNOWN, digits=0)
        for name, values in (("own", as_is), ("swapped", swapped))
    )
    folds = predicted.folds(sex, 1 - sex)
    curves = (
        Curve("own", FOLD_NUMBERS, tuple(fold.mean_x for fold in folds)),
        Curve("swapped", FOLD_NUMBERS, tuple(fold.mean_y for fold in folds), 1, dashed=True),
    )
    chart = _fold_chart(f"Mean predicted wage of {group} by fold, cents an hour", curves)
    title = f"Figure {2 + sex}: wages of {group}, sex as it is and swapped"
    return Exhibit(title, "Mean predicted wage over ten folds, cents an hour.", lines, pictures=(chart,))


FOLD_NUMBERS = tuple(float(fold + 1) for fold in range(FOLDS))


def _fold_chart(title: str, curves: tuple[Curve, ...]) -> Lines:
    table = charts.curve_table(title, "Group", curves)
    return Lines(title, "fold", curves, table, "mean predicted wage, cents an hour")


def _kl(shared: Shared) -> Exhibit:
    citizenship, weeks = predict(shared), predict(shared, WITH_WEEKS)
    lines = tuple(
        Line(f"mean divergence of {group}{how}", printed.KL, predicted.mean_kl(sex, 1 - sex), why, digits=2)
        for predicted, how, why in (
            (citizenship, "", "“around .9” in the paper"),
            (weeks, ", with weeks worked instead of citizenship", FEATURES_UNKNOWN),
        )
        for sex, group in enumerate(SEXES)
    )
    curves = tuple(
        Curve(group, FOLD_NUMBERS, tuple(fold.kl_xy or 0.0 for fold in citizenship.folds(sex, 1 - sex)), sex)
        for sex, group in enumerate(SEXES)
    )
    chart = _fold_chart("Divergence by fold, nats", curves)
    about = "Gaussian divergence between predictions as they are and swapped (the paper's equation 3)."
    return Exhibit("Figure 4: divergence for women and men", about, lines, pictures=(chart,))


def _race(shared: Shared) -> Exhibit:
    lines = tuple(
        Line(f"{of} → {to}", printed.RACE_MOVES[of, to], ours, "" if ours == printed.RACE_MOVES[of, to] else LINEAR)
        for (of, to), ours in race_moves(shared).items()
    )
    predicted = predict(shared, attribute="race")
    rows = []
    for of, to in permutations(range(len(RACES)), 2):
        own, swapped = predicted.swapped(of, to)
        moves = (f"{own.mean():.0f}", f"{swapped.mean():.0f}", f"{gaussian_kl(own, swapped):.3f}")
        kl = [np.nan if fold.kl_xy is None else fold.kl_xy for fold in predicted.folds(of, to)]
        folds = f"{np.nanmin(kl):.3f} to {np.nanmax(kl):.3f}"
        rows.append((f"{RACES[of]} → {RACES[to]}", str(own.size), *moves, folds))
    head = ("Move", "Records", "Own mean", "Swapped mean", "Divergence", "In ten folds")
    pairs = Table("Every ordered pair of races (cents an hour, nats)", head, tuple(rows))
    about = "Mean predictions and divergences with race as it is and swapped."
    return Exhibit("Figures 5 to 7: race", about, lines, (pairs,))
