"""An income classifier trained on the Adult table: logistic regression on standardised numbers and categories."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay.model import Field
from demo.predictors.prediction import Floats, Row, RowClassifier
from tests.support.real_systems.tables import Codebook, needed

SUMMARY = "Whether somebody earns more than 50,000 dollars a year: logistic regression on the UCI Adult table."

NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CATEGORIES = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
COLUMNS = (*NUMBERS, *CATEGORIES)
"""Columns that the model uses: all except the sampling weight and the name of the education level."""

INCOME = "income"
LABELS = ("<=50K", ">50K")

IN_THE_FILE = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", INCOME,
)  # fmt: skip


def read_adult(data: Path, name: str = "adult.data.gz") -> tuple[dict[str, Field], ...]:
    """Read the `COLUMNS` and the income of the table.

    Parameters
    ----------
    data : Path
        Folder that holds ``adult``.
    name : str
        ``adult.data.gz`` (32,561 records, to train on) or ``adult.test.gz``.

    Raises
    ------
    DataAbsent
        If the table does not exist.
    """
    with gzip.open(needed(data / "adult" / name), "rt", encoding="ascii", newline="") as lines:
        cells = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == len(IN_THE_FILE)]
    return tuple(_record(dict(zip(IN_THE_FILE, row, strict=True))) for row in cells)


def _record(written: dict[str, str]) -> dict[str, Field]:
    numbers = {column: int(written[column]) for column in NUMBERS}
    return {**numbers, **{column: written[column] for column in CATEGORIES}, INCOME: written[INCOME].rstrip(".")}


def load(data: Path) -> RowClassifier:
    """Train the classifier."""
    from sklearn.compose import make_column_transformer  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import OneHotEncoder, StandardScaler  # type: ignore[import-untyped]

    rows = read_adult(data)
    book = Codebook.of(rows, COLUMNS)
    places = [list(range(len(NUMBERS))), list(range(len(NUMBERS), len(COLUMNS)))]
    features = make_column_transformer((StandardScaler(), places[0]), (OneHotEncoder(), places[1]))
    model = make_pipeline(features, LogisticRegression(max_iter=1000))
    model.fit(book.coded(rows), [LABELS.index(str(row[INCOME])) for row in rows])

    def probabilities(asked: Sequence[Row]) -> Floats:
        return np.asarray(model.predict_proba(book.coded(asked)), dtype=float)

    return RowClassifier(
        name="adult-income", summary=SUMMARY, columns=COLUMNS, labels=LABELS, probabilities=probabilities
    )
