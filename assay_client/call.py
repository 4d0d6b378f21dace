"""One request of the API, described and not yet sent: what both clients have in common.

`assay_client.calls` makes them; `assay_client.exchange` has them sent, and sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from assay_client.errors import UnexpectedAnswer

T = TypeVar("T")

SAFE = frozenset({"GET", "HEAD"})
IDEMPOTENCY_KEY = "Idempotency-Key"


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its answer is read.

    Parameters
    ----------
    method, path : str
        As on the request line; `path` is below the client's ``base_url``.
    read : callable
        Makes the result of a 2xx answer.
    query, headers : mapping
        What is ``None`` is left out.
    json : object, optional
        The body, as JSON.
    content : bytes, optional
        The body, as it is.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice does no more than sending it once."""
        return self.method in SAFE or self.headers.get(IDEMPOTENCY_KEY) is not None

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Write it for a client of httpx, which adds its address and its own headers."""
        return http.build_request(
            self.method,
            self.path,
            params={name: value for name, value in self.query.items() if value is not None},
            headers={name: value for name, value in self.headers.items() if value is not None},
            json=self.json,
            content=self.content,
        )


def segment(value: str | int) -> str:
    """Write a value as one segment of a path.

    Raises
    ------
    ValueError
        If it is empty or made of dots: such a path would name another resource.
    """
    written = str(value)
    if written in {"", ".", ".."}:
        raise ValueError(f"{written!r} names no resource; give an id as the service gave it")
    return quote(written, safe="")


def wait(seconds: int | None) -> str | None:
    """Write how long the service may hold its answer back (RFC 7240); the service grants at most 30 s."""
    return None if seconds is None else f"wait={seconds}"


def as_json(response: httpx.Response) -> Any:
    """Read an answer as JSON.

    Raises
    ------
    UnexpectedAnswer
        If it is something else: the address is not an agency's.
    """
    try:
        return response.json()
    except ValueError as why:
        raise UnexpectedAnswer(str(response.url), response.headers.get("Content-Type", "nothing")) from why


def as_text(response: httpx.Response) -> str:
    """Read an answer as text."""
    return response.text


def as_bytes(response: httpx.Response) -> bytes:
    """Read a file: exactly what was sent, for digests are over bytes."""
    return response.content


def as_nothing(response: httpx.Response) -> None:
    """Read an answer that says nothing but that it is done."""


def as_response(response: httpx.Response) -> httpx.Response:
    """Leave an answer as it is."""
    return response
