"""Recorded decisions as counts: people are counted by the columns that a request names; no person's row is stored.

`store.formats.decision_rows` makes such a table from an uploaded file. A cell of the table is a combination of values
with the number of people who have it.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Ge, MaxLen

from assay.bounds import Bounded
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.model import Field, Floats, Integers

MOST_CELLS = 100_000
"""Maximum number of cells (combinations of values) of a table."""

UNKNOWN = -1
"""Code of a missing value."""

MOST_BUNDLES = 200
"""Maximum number of bundles of clusters. More clusters are joined at random, which does not change the variance."""

EXACT_ROWS = 20_000
"""Exact scores are kept up to this number of people, or a quarter as many different scores; more go into classes."""

SCORE_CLASSES = (0, 100, 40, 20)
"""Numbers of quantile classes of scores, tried until the table has at most `MOST_CELLS`; 0 keeps exact scores."""


def as_text(cell: Field) -> str:
    """Return a cell of a file as text: stripped of blanks, a truth value as ``true``, a whole number without ``.0``."""
    if isinstance(cell, str):
        return unicodedata.normalize("NFC", cell.strip())
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:  # larger floats may be rounded integers
        return str(int(cell))
    return "" if cell is None else str(cell)


@dataclass(frozen=True)
class CodedColumn(Bounded):
    """A column of a table: its different values, and the index of each cell's value; `UNKNOWN` if it is missing."""

    name: Annotated[str, MaxLen(200)]
    values: Annotated[tuple[str, ...], MaxLen(20_000)]
    codes: Annotated[tuple[int, ...], MaxLen(MOST_CELLS)]

    def codes_without(self, unknown: Sequence[str]) -> Integers:
        """Return the code of each cell, with `UNKNOWN` for the values listed in `unknown`."""
        unknown_codes = [code for code, value in enumerate(self.values) if value in unknown]
        codes = np.array(self.codes, dtype=np.int64)
        return np.where(np.isin(codes, unknown_codes), UNKNOWN, codes)


@dataclass(frozen=True)
class DecisionTable(Bounded):
    """People counted by the columns that a request names; `store.formats.decision_rows` makes it from a file.

    Parameters
    ----------
    digest : str
        ``sha256:`` and the digest of the file.
    rows : int
        Number of people in the file.
    columns : tuple of CodedColumn
        The columns by which people are counted, each with a code for every cell.
    counts : tuple of int
        Number of people of each cell.
    scores : tuple of float, optional
        Score of each cell, ``None`` if it is unknown. Empty: no score was named.
    bundles : tuple of int
        Bundle of clusters of each cell: clusters are whole within a bundle. Empty: no cluster was named.
    clusters : int
        Number of clusters in the file.
    weights, squares : tuple of float
        Sum of the weights, and of their squares, of each cell. Empty: everyone counts once.
    """

    digest: Annotated[str, MaxLen(100)]
    rows: Annotated[int, Ge(1)]
    columns: Annotated[tuple[CodedColumn, ...], MaxLen(40)]
    counts: Annotated[tuple[int, ...], MaxLen(MOST_CELLS)]
    scores: Annotated[tuple[float | None, ...], MaxLen(MOST_CELLS)] = ()
    bundles: Annotated[tuple[int, ...], MaxLen(MOST_CELLS)] = ()
    clusters: Annotated[int, Ge(0)] = 0
    weights: Annotated[tuple[float, ...], MaxLen(MOST_CELLS)] = ()
    squares: Annotated[tuple[float, ...], MaxLen(MOST_CELLS)] = ()

    def __post_init__(self) -> None:
        """Raise `OutOfBounds` if a list lacks a cell (people with equal values), or a number is impossible."""
        super().__post_init__()
        lists = (*(column.codes for column in self.columns), self.scores, self.bundles, self.weights, self.squares)
        if any(numbers and len(numbers) != len(self.counts) for numbers in lists):
            raise OutOfBounds("every list of a table of decisions must have a number for each cell", "table")
        if any(count < 1 for count in self.counts) or sum(self.counts) != self.rows:
            raise OutOfBounds(f"the counts of the cells must add up to the {self.rows} people", "table.counts")
        for column in self.columns:
            if column.codes and not UNKNOWN <= min(column.codes) <= max(column.codes) < len(column.values):
                allowed = f"0 to {len(column.values) - 1}, and {UNKNOWN} for unknown"
                raise OutOfBounds(f"the codes of the column {column.name!r} must be {allowed}", "table.columns")
        if any(weight <= 0 for weight in (*self.weights, *self.squares)) or any(bundle < 0 for bundle in self.bundles):
            raise OutOfBounds("weights must be positive, and bundles must not be negative", "table.weights")

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        """Build a table of counted people from its parsed JSON."""
        columns = tuple(
            CodedColumn(column["name"], tuple(column["values"]), tuple(column["codes"])) for column in raw["columns"]
        )
        lists = {name: tuple(raw[name]) for name in ("counts", "scores", "bundles", "weights", "squares")}
        return cls(raw["digest"], raw["rows"], columns, clusters=raw["clusters"], **lists)

    @classmethod
    def counted(
        cls,
        digest: str,
        columns: Mapping[str, tuple[Sequence[str], Integers]],
        scores: Floats | None = None,
        clusters: Integers | None = None,
        weights: Floats | None = None,
        cuts: Sequence[float] = (),
    ) -> Self:
        """Build a table from the columns of a file, which have an entry for each person.

        The scores of many people are put into quantile classes. Each end of a class, such as the median, is a class of
        its own, so that shares above it are exact; within a class, a score is replaced by the mean of the class. Raise
        `SpecificationError` if the people have too many different combinations of values to count them.

        Parameters
        ----------
        columns : mapping of str to (sequence of str, ndarray of int, shape (people,))
            Values of each column, and the index of each person's value (`UNKNOWN` if it is missing).
        scores, weights : ndarray, shape (people,), optional
            Score (NaN if unknown) and weight of each person.
        clusters : ndarray of int, shape (people,), optional
            Cluster of each person, from 0.
        cuts : sequence of float
            Scores that must be ends of classes, such as a threshold.
        """
        code_columns = [codes + 1 for _, codes in columns.values()]  # not negative: `UNKNOWN` is -1
        cluster_count, bundles = 0, None  # bundles: of at most `MOST_BUNDLES` numbers, whole clusters
        if clusters is not None:
            cluster_count = int(clusters.max(initial=-1)) + 1
            bundle_of_cluster = np.arange(cluster_count)
            if cluster_count > MOST_BUNDLES:  # the seed is fixed, so that equal files give equal tables
                bundle_of_cluster = np.random.Generator(np.random.PCG64(0)).permutation(cluster_count) % MOST_BUNDLES
            bundles = bundle_of_cluster[clusters]
            code_columns.append(bundles)
        cell_scores = None
        if scores is None:
            examples, cell_of_row = _number_cells(code_columns)  # a person of each cell; the cell of each person
        else:
            keep_exact = len(scores) <= EXACT_ROWS or np.unique(scores).size <= EXACT_ROWS / 4
            for class_count in SCORE_CLASSES if keep_exact else SCORE_CLASSES[1:]:  # first 0: exact scores
                codes, score_of_code = (
                    _classify_scores(scores, class_count, cuts) if class_count else _code_scores(scores)
                )
                examples, cell_of_row = _number_cells([*code_columns, codes])
                cell_scores = score_of_code[codes[examples]]
                if len(examples) <= MOST_CELLS:
                    break
        return cls._from_cells(digest, columns, examples, cell_of_row, cell_scores, bundles, cluster_count, weights)

    @classmethod
    def _from_cells(
        cls,
        digest: str,
        columns: Mapping[str, tuple[Sequence[str], Integers]],
        examples: Integers,
        cell_of_row: Integers,
        scores: Floats | None,
        bundles: Integers | None,
        cluster_count: int,
        weights: Floats | None,
    ) -> Self:
        """Build the table; `examples`: index of a person of each cell (set of values); `cell_of_row`: cell by row."""
        if len(examples) > MOST_CELLS:
            raise SpecificationError(
                f"people differ in {len(examples):,} combinations of the named columns, and at most {MOST_CELLS:,} are "
                "counted: leave out strata or the cluster, or name columns with fewer different values",
                "by",
            )

        def totals_by_cell(numbers: Floats) -> tuple[float, ...]:
            return tuple(np.bincount(cell_of_row, numbers, len(examples)).tolist())

        return cls(
            digest=digest,
            rows=len(cell_of_row),
            columns=tuple(
                CodedColumn(name, tuple(values), tuple(codes[examples].tolist()))
                for name, (values, codes) in columns.items()
            ),
            counts=tuple(np.bincount(cell_of_row, minlength=len(examples)).tolist()),
            scores=() if scores is None else tuple(None if np.isnan(score) else score for score in scores.tolist()),
            bundles=() if bundles is None else tuple(bundles[examples].tolist()),
            clusters=cluster_count,
            weights=() if weights is None else totals_by_cell(weights),
            squares=() if weights is None else totals_by_cell(weights**2),
        )

    def column(self, name: str) -> CodedColumn:
        """Return a column by its name; raise `UnknownName` if the table lacks it."""
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownName("column", name, tuple(column.name for column in self.columns))

    @cached_property
    def people(self) -> Floats:
        """Number of people of each cell."""
        return np.array(self.counts, dtype=float)

    @cached_property
    def weight_sums(self) -> Floats:
        """Sum of the weights of each cell, shape (cells,); the number of people if the file has no weights."""
        return np.array(self.weights) if self.weights else self.people

    @cached_property
    def squared_weight_sums(self) -> Floats:
        """Sum of the squared weights of each cell, shape (cells,); the number of people without weights."""
        return np.array(self.squares) if self.squares else self.people

    @cached_property
    def score(self) -> Floats:
        """Score of each cell, shape (cells,); NaN if it is unknown."""
        return np.array(self.scores, dtype=float)

    def answers(self, name: str, positive: str, negative: Sequence[str], unknown: Sequence[str], field: str) -> Floats:
        """Return a column as numbers, shape (cells,): 1 for `positive`, 0 for `negative`, NaN for all other values.

        Raise `SpecificationError` about the request's `field` if `positive` is empty, or a named value does not occur
        (unless `negative` is given and no unnamed value occurs either). Raise it about the field of unfavourable values
        if `negative` contains `positive`, or is empty although several other values occur.
        """
        column = self.column(name)
        values = [value for value in column.values if value not in unknown]
        if not positive:
            raise SpecificationError(f"say which value of {name} is favourable: {self.frequent_values(name)}", field)
        negative_field = f"{field.removesuffix('favourable')}unfavourable"
        if positive in negative:
            raise SpecificationError(f"{positive!r} of {name} is named favourable and unfavourable", negative_field)
        # if both kinds are named and nothing else occurs, everyone may have the same answer
        may_lack_a_value = bool(negative) and {*values} <= {positive, *negative}
        for value in (positive, *negative):
            if value not in values and not may_lack_a_value:
                raise UnknownName(f"value of {name}", value, values, field)
        other_values = [value for value in values if value != positive]
        if not negative and len(other_values) > 1:
            names = ", ".join(map(repr, other_values[:8]))
            raise SpecificationError(
                f"{name} has {len(values)} values; name those of {names} that are unfavourable: people with another "
                "value are counted as without a decision",
                negative_field,
            )
        number_by_value = {positive: 1.0, **dict.fromkeys(negative or other_values, 0.0)}
        number_by_code = [*(number_by_value.get(value, np.nan) for value in column.values), np.nan]  # last: `UNKNOWN`
        return np.asarray(np.array(number_by_code)[np.array(column.codes, dtype=np.int64)])

    def frequent_values(self, name: str, limit: int = 12) -> str:
        """Format the `limit` most frequent values of a column with their counts, for error messages: "yes (12), …"."""
        column = self.column(name)
        # `UNKNOWN` is -1, so that the first count is of missing values
        missing, *counts = np.bincount(np.array(column.codes) + 1, self.people, len(column.values) + 1).astype(int)
        indices = np.argsort(-np.array(counts), kind="stable").tolist()
        phrases = [f"{column.values[index]} ({counts[index]:,})" for index in indices[:limit]]
        if len(indices) > limit:
            phrases.append(f"{len(indices) - limit} more values")
        if missing:
            phrases.append(f"not given ({missing:,})")
        return ", ".join(phrases)


def _number_cells(keys: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Number the combinations of codes; return the index of an example person for each, and each person's number."""
    combination_numbers = np.zeros(len(keys[0]), dtype=np.int64)
    for codes in keys:  # combinations are numbered anew before each product, so that it does not overflow
        _, ranks = np.unique(combination_numbers, return_inverse=True)
        combination_numbers = ranks.reshape(-1) * (int(codes.max(initial=0)) + 1) + codes
    _, examples, cell_of_row = np.unique(combination_numbers, return_index=True, return_inverse=True)
    return examples, cell_of_row.reshape(-1)


def _code_scores(scores: Floats) -> tuple[Integers, Floats]:
    """Return the code of each person's score, and the score of each code; unknown scores have the last code."""
    distinct, codes = np.unique(scores, return_inverse=True)
    return codes.reshape(-1), distinct


def _classify_scores(scores: Floats, class_count: int, cuts: Sequence[float]) -> tuple[Integers, Floats]:
    """Return the class (between quantiles) of each person's score, and each class's mean score, NaN for unknown."""
    is_known = ~np.isnan(scores)
    shares = np.linspace(0, 1, class_count + 1)
    # both neighbours of a quantile are ends, so that a median or decile between two scores is exact too
    quantiles = [np.quantile(scores[is_known], shares, method=method) for method in ("lower", "higher")]
    ends = np.unique(np.concatenate([*quantiles, cuts]))
    end_index = np.searchsorted(ends, scores, side="left")
    at_end = ends[np.minimum(end_index, len(ends) - 1)] == scores
    # even codes lie between two ends, odd codes are ends; the last one is unknown
    codes = np.where(is_known, 2 * end_index + at_end, 2 * len(ends) + 1)
    _, classes = np.unique(codes, return_inverse=True)  # numbered without empty classes, which have no mean
    classes = classes.reshape(-1)
    return classes, np.bincount(classes, scores) / np.bincount(classes)


@dataclass(frozen=True)
class Grouping:
    """The groups of a column, or of an intersection of columns."""

    name: str
    """Name of the column, or the columns joined by `` x ``."""
    labels: tuple[str, ...]
    """Names of the groups."""
    codes: Integers
    """Shape (cells,): index of each cell's group, `UNKNOWN` if one of the values is unknown."""

    def only(self, indices: Sequence[int]) -> "Grouping":
        """Return the grouping with the groups of these indices only; cells (people) of the others have the code -1."""
        new_codes = np.full(len(self.labels), -1, dtype=np.int64)
        new_codes[indices] = np.arange(len(indices))
        codes = np.where(self.codes < 0, self.codes, new_codes[self.codes] if self.labels else -1)
        return Grouping(self.name, tuple(self.labels[index] for index in indices), codes)


def grouping_of(table: DecisionTable, names: Sequence[str], unknown: Sequence[str] = ()) -> Grouping:
    """Group a table's cells (counted people) by columns; values in `unknown`, and missing ones, belong to no group."""
    columns = [table.column(name) for name in names]
    codes = np.stack([column.codes_without(unknown) for column in columns])
    complete = np.asarray((codes >= 0).all(axis=0))
    combinations, combination_of_cell = np.unique(codes[:, complete], axis=1, return_inverse=True)
    labels = tuple(
        " x ".join(column.values[code] for column, code in zip(columns, combination, strict=True))
        for combination in combinations.T.tolist()
    )
    group_codes = np.full(len(table.counts), UNKNOWN, dtype=np.int64)
    group_codes[complete] = combination_of_cell.reshape(-1)
    return Grouping(" x ".join(names), labels, group_codes)
