"""Strict JSON: parse request bodies, and serialise answers in ASCII.

``json.loads`` accepts NaN, infinities, duplicate keys (the last wins), lone surrogates, NUL, numbers
of any length, and nesting up to the limit of the interpreter. Another parser may read such a body
differently, and the database cannot store some of it. All of it is refused.
"""

import asyncio
import json
import math
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any, NoReturn

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from pydantic import BaseModel
from starlette.responses import Response

from assay.bounds import invisible_in
from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from service.http.conditional import not_modified
from service.http.problems import Problem

MAX_DEPTH = 32
"""Maximum nesting of objects and arrays; requests of the API nest 5 levels deep."""
MAX_KEYS = 1_000
"""Maximum number of keys of an object; a record of a table has at most as many columns."""
LARGE_BYTES = 1 << 15
"""Size in bytes above which a body is parsed in a thread, so that other requests are answered meanwhile."""
MAX_DIGITS = 30
"""Maximum length of an integer; JSON parsers agree on about 17 significant digits only."""
MAX_REAL_LENGTH = 2 * MAX_DIGITS
"""Maximum length of a number with a point or exponent, which also has digits after the point."""

_PARSER = ThreadPoolExecutor(1, thread_name_prefix="json")
"""Single thread for large bodies: a second one would be no faster, delay the event loop and need twice the memory."""

_SURROGATE = re.compile("[\ud800-\udfff]")

PROSE = frozenset(
    {"citation", "contents", "description", "frames", "note", "prompt", "question", "questions", "reason", "rows"}
    | {"secret", "sentences", "settings", "text", "texts", "trials"}
)
"""Fields whose texts may have line breaks or bidirectional marks; texts in all other fields are checked as names."""

NAMES_IN_SETTINGS = frozenset({"labels", "model", "deployment", "project", "language_codes", "links"})
"""Target settings that are checked as names; other settings may hold templates, expressions or stop sequences."""


def read_json(body: bytes) -> Any:
    """Parse `body` as strict JSON.

    Raise `Problem` ``malformed-body`` (400) if it is not JSON in UTF-8; ``invalid-request`` (422) if it holds
    what parsers read differently, such as a key that appears twice, or what cannot be stored.
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_parse_object,
            parse_constant=lambda word: _refuse(f"{word} is not a JSON number; leave the field out or send null"),
            parse_int=_parse_integer,
            parse_float=_parse_real,
        )
    except RecursionError:
        _refuse(f"nested deeper than {MAX_DEPTH} levels")
    except UnicodeDecodeError as error:
        raise Problem("malformed-body", f"the body is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise Problem("malformed-body", f"{error.msg} (line {error.lineno}, column {error.colno})") from None
    # each string, the joined keys of each object (`is_keys`), and "" for each array, so that its depth counts
    for path, depth, text, is_keys in _walk_strings(value):
        if depth > MAX_DEPTH:
            _refuse(f"nested deeper than {MAX_DEPTH} levels", path)
        if "\x00" in text:
            _refuse("holds the character NUL, which cannot be stored", path)
        if not text.isascii() and _SURROGATE.search(text):
            _refuse("holds half of a surrogate pair, which is not a character", path)
        # the fast test of printable texts, which hold no invisible character, comes first
        if not text.isprintable() and (is_keys or not _is_prose(path)) and (invisible := invisible_in(text)):
            _refuse(f"a name holds the invisible character {invisible}; leave it out", path)
    return value


def write_json(value: BaseModel | Json) -> bytes:
    """Serialise as JSON in ASCII, because a target's reply may hold lone surrogates, which UTF-8 cannot encode."""
    dump = methodcaller("model_dump", by_alias=True)
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=dump).encode("ascii")


def json_response(value: BaseModel | Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with `value` as JSON."""
    return Response(write_json(value), status, dict(headers or {}), "application/json")


def tagged(value: BaseModel | Json, etag: str) -> Response:
    """Return a response with `value` as JSON, which a client may cache but must revalidate before each use."""
    return json_response(value, headers={"ETag": etag, "Cache-Control": "private, no-cache"})


@dataclass(frozen=True)
class Answer:
    """A response that can be stored. `body` has the bytes as sent: JSON, unless `headers` name another type."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self, **further_headers: str) -> Response:
        """Return the response, with further headers that are not stored."""
        return Response(self.body, self.status, {**self.headers, **further_headers}, "application/json")


def pointer_to(*parts: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


@contextmanager
def located(*path: str | int) -> Iterator[None]:
    """Make errors inside the block point into the request body at `path`; specification errors become problems.

    >>> with located("target"):
    ...     validator.check(target)            # field "base_url" becomes the pointer /target/base_url
    """
    try:
        yield
    except SpecificationError as error:
        raise bad_specification(error, path) from None
    except Problem as problem:
        problem.extend_pointers(pointer_to(*path))
        raise


def field_parts(field: str | None) -> list[str]:
    """Return the parts of a dotted field: three of ``settings.links.0``, none of ``None``."""
    return field.split(".") if field else []


def bad_specification(error: SpecificationError, path: Sequence[str | int]) -> Problem:
    """Return the problem for a specification error in the part of the request body at `path`."""
    entry = {"pointer": pointer_to(*path, *field_parts(error.field)), "detail": str(error), "code": error.code}
    return Problem("bad-specification", str(error), errors=[entry])


_Path = tuple[Any, str | int] | None
"""Path of a JSON value: its parent's path, and its key or index; written as a JSON pointer only for an error."""


def _is_prose(path: _Path) -> bool:
    """Return whether a text may have line breaks: its innermost field in `PROSE` or `NAMES_IN_SETTINGS` decides."""
    while path is not None:
        path, part = path  # (outer path, innermost key or index)
        if part in PROSE or part in NAMES_IN_SETTINGS:
            return part in PROSE
    return False


def _walk_strings(value: object) -> Iterator[tuple[_Path, int, str, bool]]:
    """Yield (path, depth, text, is_keys) for each string, object and array in a JSON value, without recursion.

    The text of an object is its joined keys; that of an array is empty, and is yielded because its depth matters.
    """
    stack: list[tuple[_Path, int, Any]] = [(None, 0, value)]
    while stack:
        path, depth, element = stack.pop()
        if isinstance(element, str):
            yield path, depth, element, False
        elif isinstance(element, dict):
            yield path, depth + 1, "".join(element), True
            stack.extend(((path, key), depth + 1, child) for key, child in element.items())
        elif isinstance(element, list):
            yield path, depth + 1, "", True  # `is_keys` does not matter for an empty text
            stack.extend(((path, index), depth + 1, child) for index, child in enumerate(element))


def _pointer_of_path(path: _Path) -> str:
    parts: list[str | int] = []
    while path is not None:
        path, part = path  # (outer path, innermost key or index)
        parts.append(part)
    return pointer_to(*reversed(parts))


def _parse_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    if len(pairs) > MAX_KEYS:
        _refuse(f"an object has {len(pairs):,} keys; at most {MAX_KEYS:,} are allowed")
    document: JsonObject = {}
    for key, value in pairs:
        if key in document:
            _refuse(f"the key {key[:80]!r} appears twice in one object")
        document[key] = value
    return document


def _parse_integer(literal: str) -> int:
    if (digit_count := len(literal.removeprefix("-"))) > MAX_DIGITS:
        _refuse(f"a number has {digit_count} digits; at most {MAX_DIGITS} are allowed")
    return int(literal)


def _parse_real(literal: str) -> float | int:
    """Parse a number with a point or exponent; JSON has one kind of number, so 7.0 is the integer 7."""
    if len(literal) > MAX_REAL_LENGTH or not math.isfinite(number := float(literal)):
        _refuse("a number is too long or too large to be represented")
    # from 2**53 on, a float can differ from the integer in the text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _refuse(detail: str, path: _Path = None) -> NoReturn:
    """Raise ``invalid-request`` with the message `detail`, pointing to `path` or, without it, to the whole body."""
    entry = {"pointer": _printable(_pointer_of_path(path)), "detail": _printable(detail)}
    raise Problem("invalid-request", entry["detail"], errors=[entry])


def _printable(text: str) -> str:
    """Replace lone surrogates and NUL characters by question marks."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "?")


class StrictRequest(Request):
    """A request whose body is parsed by `read_json`."""

    async def json(self) -> Any:
        """Parse the body as strict JSON."""
        if not hasattr(self, "_json"):
            body = await self.body()
            if len(body) > LARGE_BYTES:
                self._json = await asyncio.get_running_loop().run_in_executor(_PARSER, read_json, body)
            else:
                self._json = read_json(body)
        return self._json


class StrictRoute(APIRoute):
    """A route whose body must be strict JSON with a JSON media type; a conditional GET is answered with 304."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler, preceded by checks of the caller and of the body."""
        handle = super().get_route_handler()
        takes_body = self.body_field is not None
        checks: list[Any] = [call for call in calls_of(self.dependant) if isinstance(call, SecurityBase)]

        async def handle_strictly(request: Request) -> Response:
            request = StrictRequest(request.scope, request.receive)
            caller = None
            for check in checks:  # keys, scopes and rate limits are checked before the body is read
                caller = await check(request)  # all checks of a route that writes return the same caller
            if caller is not None:
                await request.app.state.service.rate_limiter.admit(request.method, self.path_format, caller.tenant)
            if takes_body and not _is_json(request.headers.get("content-type", "")) and await request.body():
                raise Problem("unsupported-media-type", headers={"Accept": "application/json"})
            response = await handle(request)
            if request.method == "GET" and response.status_code == 200:
                return not_modified(request, response.headers) or response
            return response

        return handle_strictly


def calls_of(dependant: Dependant) -> Iterator[Callable[..., Any] | None]:
    """Yield a route's function and all its dependencies, at any depth."""
    yield dependant.call
    for dependency in dependant.dependencies:
        yield from calls_of(dependency)


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))
