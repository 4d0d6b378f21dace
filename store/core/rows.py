"""Query helpers: read one row, read a page of a list, and build filters.

Pages are keyset pages: each starts after the last row of the previous one, so new rows shift nothing. `build` is a
dataclass, or a function, that takes the columns of a row by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Select,
    Table,
    and_,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.engine import RowMapping
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from store.core.columns import AnyText, storable

Row = TypeVar("Row", bound=tuple[Any, ...])
T = TypeVar("T")


def one_row(
    c: Connection, query: Executable, build: Callable[..., T], values: Mapping[str, object] | None = None
) -> T | None:
    """Return the only row of a query, as `build` makes it; ``None`` if there is none. `values` are bound parameters."""
    row = c.execute(query, values).mappings().one_or_none()
    return None if row is None else build(**row)


def all_rows(c: Connection, query: Executable, build: Callable[..., T]) -> list[T]:
    """Return all rows of a query, as `build` makes them."""
    return [build(**row) for row in c.execute(query).mappings()]


MOST_WEIGHT = 8_000_000
"""Total `weight` of rows, in bytes, above which a page ends early; parsed, they take at most about 100 MB."""

ROWS_A_QUERY = 16
"""Rows of a page that are read at a time, because some drivers hold all rows of a query in memory."""

MOST_COUNTED = 1_000
"""Maximum total that a list shows; longer lists are not counted to their end."""


class Rows(list[T]):
    """Rows of a page; `cut` is true if more rows may follow although the page has fewer than requested.

    `total` is the number of rows of the whole list; ``None`` if it is larger than `MOST_COUNTED`, or not known.
    """

    cut = False
    total: int | None = None


def limit_rows(rows: Iterable[RowMapping], build: Callable[[RowMapping], T]) -> Rows[T]:
    """Return rows, converted by `build`, as a page; it is `cut` where their total `weight` exceeds `MOST_WEIGHT`."""
    page, total_weight = Rows[T](), 0
    for row in rows:
        page.append(build(row))
        total_weight += weight(row)
        if total_weight > MOST_WEIGHT:
            page.cut = True
            break
    return page


def weight(value: object) -> int:
    """Estimate the size in bytes of a JSON value, or of a row that holds JSON values."""
    size, unvisited = 0, [value]
    while unvisited:
        element = unvisited.pop()
        size += 16  # overhead of any value
        if isinstance(element, str | bytes):
            size += len(element)
        elif isinstance(element, Mapping):
            unvisited += [*element, *element.values()]
        elif isinstance(element, list):
            unvisited += element
    return size


def page_of(
    c: Connection, query: Select[Any], table: Table, build: Callable[..., T], before: tuple[int, str] | None, limit: int
) -> Rows[T]:
    """Return a page of a table's rows, newest first, after the row with the sort key ``before = (created_at, id)``.

    Large rows shorten the page (`limit_rows`). A list that does not fit is counted, up to `MOST_COUNTED` rows.
    """
    rows = limit_rows(page_rows(c, query, table, before, limit), lambda row: build(**row))
    rows.total = len(rows)  # replaced below if other rows may precede or follow them
    if before is not None or rows.cut or len(rows) >= limit:
        ids_query = query.with_only_columns(table.c.id, maintain_column_froms=True).limit(MOST_COUNTED + 1)
        total = c.execute(select(func.count()).select_from(ids_query.subquery())).scalar_one()
        rows.total = total if total <= MOST_COUNTED else None
    return rows


def page_rows(
    c: Connection, query: Select[Any], table: Table, before: tuple[int, str] | None, limit: int
) -> Iterator[RowMapping]:
    """Yield the rows of a page, newest first, a few at a time."""
    while limit > 0:
        batch_size = min(limit, ROWS_A_QUERY)
        count = 0
        for row in c.execute(newest_first(query, table.c.created_at, table.c.id, before, batch_size)).mappings():
            yield row
            count, before = count + 1, (row["created_at"], row["id"])
        limit = limit - batch_size if count == batch_size else 0  # an incomplete batch is the last one


def newest_first(
    query: Select[Row],
    created_at: ColumnElement[int],
    row_id: ColumnElement[str],
    before: tuple[int, str] | None,
    limit: int,
) -> Select[Row]:
    """Limit a query to one page of a list sorted newest first, by `created_at` and `row_id`.

    `before` is the sort key of the last row of the previous page; ``None`` selects the first page.
    """
    if before is not None:
        last_time, last_id = before
        query = query.where(and_(created_at <= last_time, or_(created_at < last_time, row_id < last_id)))
    return query.order_by(created_at.desc(), row_id.desc()).limit(limit)


def equal(table: Table, **values: object) -> list[ColumnElement[bool]]:
    """Return the conditions that columns have the given values; ``None`` means any value."""
    return [table.c[name] == value for name, value in values.items() if value is not None]


class json_part(FunctionElement[str]):  # noqa: N801 - named like an SQL function
    """SQL expression: a nested field of a column that holds JSON text (`store.core.columns.Json`); NULL if missing."""

    type = AnyText()
    name = "json_part"
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], *path: str) -> None:
        super().__init__(column, literal_column(f"'{','.join(path)}'"))


@compiles(json_part, "sqlite")
def _compile_for_sqlite(element: json_part, compiler: Any, **options: Any) -> str:
    column, path = (compiler.process(clause, **options) for clause in element.clauses)
    return f"json_extract({column}, '$.{path[1:-1].replace(',', '.')}')"


@compiles(json_part, "postgresql")
def _compile_for_postgresql(element: json_part, compiler: Any, **options: Any) -> str:
    column, path = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(CAST({column} AS json) #>> '{{{path[1:-1]}}}')"


def holds(c: Connection, column: ColumnElement[str], *texts: str) -> ColumnElement[bool]:
    """Return the condition that a column contains all texts, whether in upper or lower case; Postgres uses an index."""
    conditions = [column.icontains(text, autoescape=True) for text in texts]
    if c.dialect.name == "postgresql":  # last, because computing a row's grams (parts of 1 to 3 characters) is slow
        grams, stored_texts = func.name_grams(func.lower(column)), map(storable, texts)  # a function of the schema
        conditions += [grams.op("@>", is_comparison=True)(func.sought_grams(func.lower(text))) for text in stored_texts]
    return and_(*conditions)


def about_target(table: Table, q: str | None, kind: str | None) -> list[ColumnElement[bool]]:
    """Return conditions: a row's ``target`` is of this `kind`, and its name or address contains `q` (``None``: any)."""
    conditions: list[ColumnElement[bool]] = []
    if kind is not None:
        conditions.append(json_part(table.c.target, "kind") == kind)
    if q is not None:
        name = json_part(table.c.target, "name")
        conditions.append(or_(name.icontains(q, autoescape=True), table.c.target_url.icontains(q, autoescape=True)))
    return conditions
