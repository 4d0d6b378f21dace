"""One request and its response: as sent and received, and without credentials, to be shown to people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from urllib.parse import urlsplit, urlunsplit

from assay.document import JsonObject
from workers.egress.connection import ReceivedResponse
from workers.egress.failures import LONGEST_KEY, MASK, Quoter

SHOWN_BODY = 2_000
"""Characters of a body that are shown."""

SHOWN_VALUE = 200
"""Characters of a header's value that are shown."""

_CREDENTIALS = (
    r"access_token|refresh_token|id_token|client_secret|client_assertion|assertion|password|api_?key|auth_key"
)
_HEADER = re.compile(r"authorization|cookie|token\b|secret|key\b|signature|credential", re.IGNORECASE)
_QUERY = re.compile(r"(?i)((?:^|&)[^=&]*(?:token|secret|key|signature|credential|password|assertion)[^=&]*=)[^&]*")
_MEMBER = re.compile(rf'(?i)("(?:{_CREDENTIALS})"\s*:\s*)"(?:[^"\\]|\\.)*"?')
_FIELD = re.compile(rf"(?i)((?:^|&)(?:{_CREDENTIALS})=)[^&\s]*")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response, with the API key: `show_exchange` removes credentials before people see it."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)
    received: ReceivedResponse | None = field(repr=False)
    """Complete response with any status; ``None`` if there was no response."""
    seconds: float
    """Time from the start of the call to its end."""


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A request without its credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """A response without credentials; `size` is the size of the whole body in bytes."""

    status: int
    headers: Mapping[str, str]
    body: str
    size: int


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """An exchange without credentials, its bodies cut to `SHOWN_BODY` characters."""

    request: ShownRequest
    response: ShownResponse | None
    seconds: float

    def as_json(self) -> JsonObject:
        """Return the exchange as a JSON object."""
        return asdict(self)


def show_exchange(exchange: Exchange, secrets: Iterable[str] = ()) -> ShownExchange:
    """Return an exchange without credentials, to be shown to people.

    The `secrets` are masked in all their spellings everywhere. Headers, parameters and JSON members whose name
    indicates a credential are masked too, because a token may be derived from the secret.
    """
    quoters = [Quoter(secret) for secret in secrets] or [Quoter()]

    def clean(text: str, longest: int) -> str:
        for quoter in quoters:
            text = quoter.excerpt(text, longest)
        return text

    def headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
        return {name.lower(): MASK if _HEADER.search(name) else clean(value, SHOWN_VALUE) for name, value in pairs}

    def body(content: bytes) -> str:
        text = content[: SHOWN_BODY + 4 * LONGEST_KEY].decode("utf-8-sig", "replace")
        return clean(_FIELD.sub(rf"\g<1>{MASK}", _MEMBER.sub(rf'\g<1>"{MASK}"', text)), SHOWN_BODY)

    parts = urlsplit(exchange.url)
    url = urlunsplit(parts._replace(query=_QUERY.sub(rf"\g<1>{MASK}", parts.query)))
    request = ShownRequest(
        exchange.method, clean(url, SHOWN_BODY), headers(exchange.headers.items()), body(exchange.content)
    )
    got = exchange.received
    response = None
    if got is not None:
        raw = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in got.headers)
        response = ShownResponse(got.status, headers(raw), body(got.body), len(got.body))
    return ShownExchange(request, response, exchange.seconds)
