"""A wage model trained on the census table, set up as P3 did (docs/methods/alternation.md).

Rows with a wage and one of five levels of education; label-coded categories, standardised, polynomial
features, least squares. Wages in cents per hour. The model is trained on all rows, because it is only a service to be
rated and its accuracy does not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.model import Field
from demo.predictors.prediction import Row, RowRegressor
from tests.support.real_systems.tables import Codebook, needed

SUMMARY = "Cents per hour by a polynomial of degree 1, trained on the UCI Census-Income (KDD) table as P3 did."

WAGE = "wage_per_hour"
COLUMNS = (
    "class_worker", "education", "marital_stat", "major_ind_code", "major_occ_code", "race", "sex", "citizenship",
    "age", "num_emp",
)  # fmt: skip
"""Attributes of P3's model."""

EDUCATION = (
    "High school graduate", "Some college but no degree", "Bachelors degree(BA AB BS)",
    "Masters degree(MA MS MEng MEd MSW MBA)", "Doctorate degree(PhD EdD)",
)  # fmt: skip
"""Levels of education that P3 keeps."""

FILES = ("train.parquet", "test.parquet")


def read_census(data: Path) -> tuple[dict[str, Field], ...]:
    """Read the `COLUMNS` and the wage of the rows that P3 keeps.

    Parameters
    ----------
    data : Path
        Folder that holds ``kdd_census``.

    Returns
    -------
    tuple of dict
        8,414 records; the quotes and blanks around words in the file are removed.

    Raises
    ------
    DataAbsent
        If the table does not exist.
    """
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]

    rows: list[dict[str, Field]] = []
    for name in FILES:
        table = parquet.read_table(
            needed(data / "kdd_census" / name), columns=[*COLUMNS, WAGE], filters=[(WAGE, ">", 0)]
        )
        rows += [{column: _bare(cell) for column, cell in row.items()} for row in table.to_pylist()]
    return tuple(row for row in rows if row["education"] in EDUCATION)


def _bare(cell: Field) -> Field:
    """Remove the quotes and blanks around a word of the file."""
    return cell.strip(" '") if isinstance(cell, str) else cell


def load(data: Path, degree: int = 1) -> RowRegressor:
    """Train the model.

    Parameters
    ----------
    data : Path
        Folder that holds ``kdd_census``.
    degree : int
        Degree of the polynomial features.
    """
    from sklearn.linear_model import LinearRegression  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler  # type: ignore[import-untyped]

    rows = read_census(data)
    book = Codebook.of(rows, COLUMNS)
    model = make_pipeline(StandardScaler(), PolynomialFeatures(degree, include_bias=False), LinearRegression())
    model.fit(book.coded(rows), [row[WAGE] for row in rows])

    def numbers(asked: Sequence[Row]) -> list[float]:
        return [float(wage) for wage in model.predict(book.coded(asked))]

    return RowRegressor(name="census-wage", summary=SUMMARY, columns=COLUMNS, numbers=numbers)
