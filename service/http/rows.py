"""Rows that a request reads: the one that its path names, and pages of lists.

A page begins after the last row of the previous page. Therefore pages neither skip nor repeat a row while new rows
arrive, and every page costs the same. The cursor is opaque and valid for its list and filters only; `Link` (RFC 8288)
holds the address of the next page.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Depends, Query, Request, Response
from pydantic import BaseModel, Field, create_model

from assay.document import Json, JsonObject
from service.http.authentication import Caller, HttpParts, PartsDependency, parts_of
from service.http.json import json_response
from service.http.openapi.common_schemas import ListModel, QueryModel
from service.http.problems import Problem, base_url, existing
from service.http.replica import PublicDatabase

Row = TypeVar("Row")

Key = tuple[int, str]
"""Sort key of a row in a list, newest first: (created_at in ms since 1970, id); in a numbered list (number, "")."""

MAX_ROWS = 200

Limit = Annotated[int, Field(ge=1, le=MAX_ROWS, description=f"Rows per page, 1 to {MAX_ROWS}.")]


class PageQuery(QueryModel):
    """Query parameters of every list; a list adds its filters."""

    limit: Limit = 50
    cursor: Annotated[
        str | None, Field(max_length=400, description="Start of the page, copied unchanged from the Link header.")
    ] = None

    def filters(self) -> JsonObject:
        """Return the filters: every parameter except `limit`, `cursor` and `fields`."""
        return self.model_dump(exclude={"limit", "cursor", "fields"})

    def cursor_key(self, list_name: str, end: int = 2**63) -> Key | None:
        """Return the sort key after which the page begins (its number is below `end`); ``None``: the first page."""
        return None if self.cursor is None else open_cursor(self.cursor, list_name, self.filters(), end)


Fields = Annotated[
    Literal["summary", "full"], Field(description="The main fields of each row, or everything (`full`), which is long.")
]

Search = Annotated[
    str | None, Field(min_length=1, max_length=200, description="Part of the target's name or address, case ignored.")
]

Paging = Annotated[PageQuery, Query()]


def newest_first(row: Any) -> Key:
    """Return the sort key of a row in a list of newest rows first: its creation time and its id."""
    return row.created_at, row.id


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows of one page, and the key of its last row if another page follows."""

    rows: Sequence[Row]
    next_key: Key | None
    total: int | None = None
    """Number of rows of the whole list, if it is known."""

    @classmethod
    def of(cls, rows: Sequence[Row], limit: int, key: Callable[[Row], Key] = newest_first) -> "Page[Row]":
        """Return the first `limit` of `rows`; another page follows if there are more rows, or `rows.cut` says so."""
        has_more = len(rows) > limit or getattr(rows, "cut", False)
        page_rows = rows[:limit]
        return cls(page_rows, key(page_rows[-1]) if has_more else None, getattr(rows, "total", None))


def make_cursor(key: Key, list_name: str, filters: Json) -> str:
    """Return the cursor of the page after the row with a sort `key`, valid for this list and these filters only."""
    text = json.dumps([*key, _checksum(list_name, filters)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def open_cursor(cursor: str, list_name: str, filters: Json, end: int = 2**63) -> Key:
    """Return a cursor's key; raise ``bad-cursor`` for another list, other filters, or a number not below `end`."""
    try:
        padded_cursor = cursor + "=" * (-len(cursor) % 4)  # the padding that `make_cursor` removed
        number, row_id, checksum = json.loads(base64.b64decode(padded_cursor, altchars=b"-_", validate=True))
        number, row_id = int(number), str(row_id)
    except (binascii.Error, ValueError, TypeError, OverflowError, RecursionError):
        number, row_id, checksum = 0, "", None  # no list has this checksum
    # a forged key may hold what the database cannot compare
    if checksum != _checksum(list_name, filters) or not 0 <= number < end or "\x00" in row_id:
        raise Problem("bad-cursor", errors=[{"parameter": "cursor", "detail": "not a cursor of this list"}])
    return number, row_id


@dataclass(frozen=True)
class ListReader:
    """Reads lists in pages, and builds the response to a request for a page."""

    request: Request
    parts: HttpParts

    def response(
        self, query: PageQuery, list_name: str, page: Page[Any], items: Sequence[BaseModel | Json], **facts: object
    ) -> Response:
        """Return a JSON response with a page's `items`, a ``Link`` to the next page, and further members (`facts`)."""
        headers, cursor = dict[str, str](), None
        if page.next_key is not None:
            cursor = make_cursor(page.next_key, list_name, query.filters())
            address = self.request.url.include_query_params(cursor=cursor)
            headers["Link"] = f'<{base_url(self.request)}{address.path}?{address.query}>; rel="next"'
        return json_response({"items": items, "next_cursor": cursor, "total": page.total, **facts}, headers=headers)

    async def page(
        self,
        query: PageQuery,
        list_name: str,
        view: Callable[[Any], BaseModel | Json],
        read: Callable[..., Sequence[Any]],
        *arguments: object,
        key: Callable[[Any], Key] = newest_first,
    ) -> Response:
        """Return a response with one page of a list, read as in `ListReader.read`; `view` builds the view of a row."""
        page = await self.read(query, list_name, read, *arguments, key=key)
        return self.response(query, list_name, page, [view(row) for row in page.rows])

    async def read(
        self,
        query: PageQuery,
        list_name: str,
        read: Callable[..., Sequence[Any]],
        *arguments: object,
        database: PublicDatabase | None = None,
        key: Callable[[Any], Key] = newest_first,
    ) -> Page[Any]:
        """Return a page of a list, read by ``read(c, *arguments, **filters, …)`` from `database` (default: primary)."""
        position = {"before": query.cursor_key(list_name), "limit": query.limit + 1}
        rows = await (database or self.parts.database).read(read, *arguments, **query.filters(), **position)
        return Page.of(rows, query.limit, key)


async def list_reader(request: Request, parts: PartsDependency) -> ListReader:
    """Return the reader of lists for a request."""
    return ListReader(request, parts)


Lists = Annotated[ListReader, Depends(list_reader)]


def lists_of(view: type[BaseModel], description: str) -> JsonObject:
    """Return the keyword arguments, for FastAPI, of a route that returns one page of a list of views."""
    return {"response_model": _list_model(view, description)}


@cache
def _list_model(view: type[BaseModel], description: str) -> type[BaseModel]:
    """Return the schema of a page; it is named after the view (``TargetView`` becomes ``TargetList``)."""
    name = re.sub("(View|Line|Summary|Entry)$", "List", view.__name__)
    return create_model(name, __base__=ListModel[view], __doc__=description, __module__=__name__)  # type: ignore[valid-type]


def _checksum(list_name: str, filters: Json) -> str:
    text = json.dumps([list_name, dict(filters)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def in_path(noun: str, find: Callable[..., Any], caller_type: object, parameter: str = "") -> Any:
    """Return a FastAPI dependency: it reads the row whose id is in the path, or raises ``not-found``.

    Parameters
    ----------
    noun : str
        Word for the resource in the message of ``not-found``.
    find : callable
        Reads a row by connection, id and tenant; ``None`` if there is none that the tenant may see.
    caller_type
        Annotated type of the caller, which requires the scope that the route needs, such as `Reader`.
    parameter : str
        Name of the path's parameter; by default the noun and ``_id``, such as ``target_id``.
    """
    id_name = parameter or f"{noun}_id"

    async def row_in_path(request: Request, caller: Caller, **ids: str) -> Any:
        row = await parts_of(request).database_for(request).read(find, ids[id_name], caller.tenant)
        return existing(row, noun, ids[id_name])

    annotations = {"request": Request, "caller": caller_type, id_name: str}
    parameters = [Parameter(key, Parameter.KEYWORD_ONLY, annotation=hint) for key, hint in annotations.items()]
    row_in_path.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # FastAPI reads it
    return Depends(row_in_path)
