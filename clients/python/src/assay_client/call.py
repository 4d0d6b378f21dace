"""The description of one request, shared by both clients.

`assay_client.operations` creates calls; `assay_client.exchange` sends them, with retries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from assay_client.errors import UnexpectedAnswer
from assay_client.shown import ShownImage, displayable

T = TypeVar("T")

SAFE = frozenset({"GET", "HEAD"})
IDEMPOTENCY_KEY = "Idempotency-Key"
SVG = "image/svg+xml"


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and the reader of its answer.

    Parameters
    ----------
    method, path : str
        As in the request line; `path` is relative to the client's ``base_url``.
    read : callable
        Converts a 2xx answer to the result.
    query, headers : mapping
        Entries that are ``None`` are left out.
    json : object, optional
        The body, as JSON.
    content : bytes, optional
        The body, unchanged.
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
        """Whether sending the request twice is safe."""
        return self.method in SAFE or self.headers.get(IDEMPOTENCY_KEY) is not None

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Build the httpx request; the httpx client adds its address and headers."""
        return http.build_request(
            self.method,
            self.path,
            params={name: value for name, value in self.query.items() if value is not None},
            headers={name: value for name, value in self.headers.items() if value is not None},
            json=self.json,
            content=self.content,
        )


def segment(value: str | int) -> str:
    """Percent-encode a value, including slashes, as one segment of a URL path.

    Raises
    ------
    ValueError
        If the value is empty, "." or "..": such a path would name another resource.
    """
    text = str(value)
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} does not name a resource; use an id that the service returned")
    return quote(text, safe="")


def wait(seconds: int | None) -> str | None:
    """Return ``wait=SECONDS`` for the header ``Prefer`` (RFC 7240), or ``None``; the service waits 30 s at most."""
    return None if seconds is None else f"wait={seconds}"


def as_json(response: httpx.Response) -> Any:
    """Read an answer as JSON; ratings in it become `ShownRating`, a dict that notebooks display.

    Raises
    ------
    UnexpectedAnswer
        If the answer is not JSON, so that the address is not an agency's.
    """
    try:
        return response.json(object_hook=displayable)
    except ValueError as error:
        raise UnexpectedAnswer(str(response.url), response.headers.get("Content-Type", "nothing")) from error


def as_text(response: httpx.Response) -> str:
    """Read an answer as text; notebooks show an SVG image as an image."""
    return ShownImage(response.text) if response.headers.get("Content-Type", "").startswith(SVG) else response.text


def as_bytes(response: httpx.Response) -> bytes:
    """Return the answer, a file, as unchanged bytes, from which digests are computed."""
    return response.content


def as_nothing(response: httpx.Response) -> None:
    """Ignore the body of an answer."""


def as_response(response: httpx.Response) -> httpx.Response:
    """Return the answer itself."""
    return response
