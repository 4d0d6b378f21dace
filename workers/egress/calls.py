"""Outgoing HTTP calls: one request and deadline, a complete response or `CallFailed`; and exchanges shown to people."""

import asyncio
import copy
import json
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NoReturn, Protocol, Self
from urllib.parse import urlsplit, urlunsplit

import httpx
from aiohttp.http import SERVER_SOFTWARE

from assay import __version__
from assay.document import JsonObject
from workers.egress.connection import ReceivedResponse
from workers.egress.failures import (
    LONGEST_KEY,
    MASK,
    RETRIABLE_STATUSES,
    CallFailed,
    Quoter,
    parse_retry_after,
    should_retry,
)
from workers.egress.guard import Network, Origin, Resolve, origin_of, resolve
from workers.egress.transport import Dial, GuardedTransport, MakeContext, default_context, dial
from workers.tenant_uploads import Library

SHOWN_BODY = 2_000
"""Maximum number of characters of a body that are shown to people."""

SHOWN_VALUE = 200
"""Maximum number of characters of a header's value that are shown to people."""

_CREDENTIALS = (
    r"access_token|refresh_token|id_token|client_secret|client_assertion|assertion|password|api_?key|auth_key"
    r"|(?:proxy-)?authorization|(?:set-)?cookie|x-api-key"
)
# what may be a credential: names of headers; parameters of a URL; JSON members and form fields of a body
_KEY_HEADER = re.compile(r"authorization|cookie|token\b|secret|key\b|signature|credential", re.IGNORECASE)
_KEY_QUERY = re.compile(r"(?i)((?:^|&)[^=&]*(?:token|secret|key|signature|credential|password|assertion)[^=&]*=)[^&]*")
_KEY_MEMBER = re.compile(rf'(?i)("(?:{_CREDENTIALS})"\s*:\s*)"(?:[^"\\]|\\.)*"?')
_KEY_FIELD = re.compile(rf"(?i)((?:^|&)(?:{_CREDENTIALS})=)[^&\s]*")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response, including the API key; `show_exchange` removes credentials for display."""

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
    """A request without its credentials, as the test of a connection shows it."""

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

    The `secrets` and the request's bearer token are masked in all their spellings everywhere. Headers, parameters and
    JSON members whose name indicates a credential are masked too, because a token may be derived from the secret.
    """
    _, bearer, token = exchange.headers.get("Authorization", "").rpartition("Bearer ")
    quoters = [Quoter(secret) for secret in (*secrets, *([token] if bearer else []))] or [Quoter()]  # that only cuts

    def redact(text: str, longest: int) -> str:
        for quoter in quoters:  # each masks its secret, and cuts the text to `longest` characters
            text = quoter.excerpt(text, longest)
        return text

    def shown_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
        return {name.lower(): MASK if _KEY_HEADER.search(name) else redact(value, SHOWN_VALUE) for name, value in pairs}

    def shown_body(content: bytes) -> str:
        # enough for the shown characters, of at most 4 bytes, and for a key that crosses their end
        text = content[: SHOWN_BODY + 4 * LONGEST_KEY].decode("utf-8-sig", "replace")
        text = _KEY_FIELD.sub(rf"\g<1>{MASK}", _KEY_MEMBER.sub(rf'\g<1>"{MASK}"', text))
        return redact(text, SHOWN_BODY)

    url_parts = urlsplit(exchange.url)
    url = urlunsplit(url_parts._replace(query=_KEY_QUERY.sub(rf"\g<1>{MASK}", url_parts.query)))
    headers = shown_headers(exchange.headers.items())
    request = ShownRequest(exchange.method, redact(url, SHOWN_BODY), headers, shown_body(exchange.content))
    received = exchange.received
    response = None
    if received is not None:
        headers = shown_headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in received.headers)
        response = ShownResponse(received.status, headers, shown_body(received.body), size=len(received.body))
    return ShownExchange(request, response, exchange.seconds)


RESPONSE_CAP = 1024 * 1024
"""Default of the maximum size of a response body in bytes."""

STANDING_HEADERS = {
    "Accept": "*/*",
    # no compression is accepted, because a compressed body could be a decompression bomb
    "Accept-Encoding": "identity",
}
"""Headers of all calls, with common values, so that a service cannot tell the agency from its other customers."""

AGENT = f"assay/{__version__}"
"""User agent of calls that concern the agency itself: for a host's file of refusals, or the proof of its owner."""

PARTIAL = 206
"""HTTP status of a part of a resource; Assay never requests a part, so this status is a failure."""

QUOTA_STATUSES = frozenset({402, 456})  # 456 is DeepL's; 402 is used by prepaid services
QUOTA_MARKS = (b"insufficient_quota", b"billing_hard_limit_reached", b"billing_not_active")
"""Words in the body of a 429 or 403 that mean that the account has no credit (OpenAI and compatible services)."""

REFUSED_MARKS = (
    *(b"UnrecognizedClientException", b"InvalidSignatureException", b"MissingAuthenticationToken"),
    *(b"IncompleteSignature", b"ExpiredToken", b"AccessDeniedException", b"API_KEY_INVALID"),
)
BUSY_MARKS = (b"ThrottlingException", b"TooManyRequestsException", b"LimitExceededException")
"""Words in the body of a 400: `REFUSED_MARKS` mean a wrong key, `BUSY_MARKS` too many calls (AWS, Google)."""

HINTS: Mapping[int, str] = {
    400: "it did not understand the request; check the protocol, the settings and the languages",
    404: "nothing is there; check the address (base_url)",
    405: "it does not take this kind of request there; check the protocol and the base_url",
    413: "the text is too long for it",
    415: "it wants another kind of body; check the protocol",
    422: "it did not understand the request; check the protocol, the settings and the languages",
    429: "it was asked too often; lower the target's limits",
}


@dataclass(frozen=True, slots=True)
class Response:
    """Complete response with a 2xx status; header names are in lower case, `origin` is the host (and port)."""

    status: int
    raw_headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    origin: str
    secrets: Sequence[str] | None = field(default=None, repr=False)
    """Keys that the service was sent; ``None`` if its messages must not be quoted."""

    @property
    def headers(self) -> httpx.Headers:
        """Headers, with names that ignore case."""
        return httpx.Headers(list(self.raw_headers))

    @property
    def text(self) -> str:
        """Body decoded as UTF-8, regardless of the headers, with replacements, without a byte order mark."""
        return self.body.decode("utf-8-sig", "replace")

    def quote(self) -> str:
        """Return a quotation of the service's message, to append to a sentence; empty if `secrets` are ``None``."""
        return "" if self.secrets is None else Quoter(*self.secrets).quote(self.body)

    def json(self) -> Any:
        """Parse the body as JSON; raise `CallFailed` ``garbage`` for a web page, else ``bad-json``, also for 1e999."""
        try:
            return json.loads(self.body, parse_constant=_refuse_constant, parse_float=_parse_finite)
        except (ValueError, RecursionError):
            # the failure is raised after this block, so that it has no `__context__`, which quotes the body
            is_web_page = self.body.lstrip()[:1] == b"<" or "html" in self.headers.get("content-type", "")
        if is_web_page:
            advice = "the address (base_url) may be the website's"
            message = f"{self.origin} answered with a web page instead of JSON; {advice}"
            raise CallFailed("garbage", message, status=self.status)
        message = f"{self.origin} answered something that is not JSON{self.quote()}"
        raise CallFailed("bad-json", message, status=self.status)


class Hosts(Protocol):
    """Limits of the calls to hosts, and whether a host refuses to be rated (`workers.calls.host_limits`)."""

    def slot(self, url: str, timeout_s: float, addresses: Sequence[str] = ()) -> AbstractAsyncContextManager[None]:
        """Wait for a slot at a URL's host and at its addresses, and hold it for at most `timeout_s` seconds."""
        ...


class Egress:
    """Client for outgoing calls. Use it as an asynchronous context manager, within one event loop.

    Parameters
    ----------
    allow : sequence of network
        Networks that the operator allows in addition to public addresses.
    response_cap : int
        Maximum size of a response body in bytes.
    resolve, dial, make_context
        See `GuardedTransport`.
    now : callable
        Clock with a time zone, for ``Retry-After``.
    scraping : bool
        Whether the operator allows libraries to call public web pages without the guard
        (`workers.targets.protocols.deep_translator`).
    library : Library, optional
        Uploads and images of the job's tenant.
    exempt_hosts : sequence of network
        Networks of the operator, to whose hosts the limits of hosts do not apply.
    host_limits : Hosts, optional
        Limits of all other hosts.
    user_agent : str, optional
        Header ``User-Agent``; by default that of the HTTP library, which reveals nothing about the agency.
    """

    def __init__(
        self,
        allow: Sequence[Network] = (),
        *,
        response_cap: int = RESPONSE_CAP,
        resolve: Resolve = resolve,
        dial: Dial = dial,
        make_context: MakeContext = default_context,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        scraping: bool = False,  # whether libraries may call public web pages without the guard
        library: Library | None = None,  # the tenant's uploads and images
        exempt_hosts: Sequence[Network] = (),  # networks whose hosts have no limits
        host_limits: Hosts | None = None,
        user_agent: str | None = None,
    ) -> None:
        self.allow, self.scraping, self.library = tuple(allow), scraping, library
        self.transport = GuardedTransport(
            allow, response_cap=response_cap, resolve=resolve, dial=dial, make_context=make_context, exempt=exempt_hosts
        )
        self._host_limits = host_limits
        self.now, self._response_cap = now, response_cap
        self._standing_headers = {**STANDING_HEADERS, "User-Agent": user_agent or SERVER_SOFTWARE}
        self._clients_by_certificate: dict[str, Egress] = {}
        self._on_exchange: Callable[[Exchange], None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for egress in (self, *self._clients_by_certificate.values()):
            await egress.transport.aclose()

    def certified(self, certificate: str) -> "Egress":
        """Return a client with its own connections that shows a certificate (PEM, with chain and unencrypted key)."""
        if certificate not in self._clients_by_certificate:
            self._clients_by_certificate[certificate] = copy.copy(self)
            self._clients_by_certificate[certificate].transport = self.transport.certified(certificate)
        return self._clients_by_certificate[certificate]

    def watched(self, on_exchange: Callable[[Exchange], None]) -> Self:
        """Return a copy with the same connections that passes every exchange to `on_exchange`, secrets included."""
        watched_client = copy.copy(self)
        watched_client._on_exchange = on_exchange  # noqa: SLF001 - a copy of this object
        return watched_client

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        timeout_s: float,
        retriable: Container[int] = RETRIABLE_STATUSES,
        room: int = 0,
        secrets: Sequence[str] | None = None,
    ) -> Response:
        """Make one call, without redirects, cookies, proxies or environment variables.

        `Host`, lengths and `Accept-Encoding` are added. `timeout_s` is the deadline in seconds, from connecting to
        the last byte, and `room` the maximum size of this response's body in bytes, if it is larger than the cap. After
        the HTTP statuses `retriable`, a retry may help. `secrets` are the keys in the request, of which the service's
        messages are cleaned before they become part of a `CallFailed`; if they are ``None``, no message is quoted.

        Raise `CallFailed` with a code of `CODES` unless the response is complete and its status 2xx, and
        `RatingsRefused` if the host refuses ratings, before anything is sent to it.
        """
        origin = origin_of(url)
        request_target, all_headers = request_target_of(url), {**self._standing_headers, **(headers or {})}
        if request_target is None or not "".join([*all_headers, *all_headers.values()]).isascii():
            raise CallFailed("unsupported", f"the request to {origin} holds characters that HTTP cannot carry")
        async with self._within_host_limits(url, timeout_s):
            start = time.perf_counter()
            answer = None
            try:
                cap = max(room, self._response_cap)
                async with asyncio.timeout(timeout_s):
                    answer = await self.transport.ask(origin, method, request_target, all_headers, content, cap)
            except TimeoutError:
                raise CallFailed("timeout", f"{origin} did not answer completely within {timeout_s:g} s") from None
            finally:
                if self._on_exchange is not None:
                    seconds = time.perf_counter() - start
                    self._on_exchange(Exchange(method, url, all_headers, content, received=answer, seconds=seconds))
        response = Response(answer.status, answer.headers, answer.body, origin=str(origin), secrets=secrets)
        if not 200 <= response.status < 300 or response.status == PARTIAL:
            raise self._failure_of(response, retriable)
        return response

    async def exempt(self, url: str, timeout_s: float) -> bool:
        """Whether a URL's host is exempt from the limits of hosts; raise `CallFailed` if that host cannot be called."""
        async with _resolving(url, timeout_s) as origin:
            return await self.transport.exempt_hosts.holds(origin)

    async def addresses(self, url: str, timeout_s: float) -> Sequence[str]:
        """Return the address at which a URL's host was last reached; before the first call, the addresses to try."""
        async with _resolving(url, timeout_s) as origin:
            return await self.transport.exempt_hosts.addresses_of(origin)

    @asynccontextmanager
    async def _within_host_limits(self, url: str, timeout_s: float) -> AsyncIterator[None]:
        """Hold a slot at a URL's host while the block runs; waiting for it does not count towards the deadline."""
        if self._host_limits is None or await self.exempt(url, timeout_s):
            yield
        else:
            async with self._host_limits.slot(url, timeout_s, await self.addresses(url, timeout_s)):
                yield

    def _failure_of(self, response: Response, retriable: Container[int]) -> CallFailed:
        """Return the failure of a response whose status is not 2xx, or is 206 (a part)."""
        status, origin = response.status, response.origin
        if status == PARTIAL:
            return CallFailed("truncated", f"{origin} answered with a part of the content only (HTTP {status})")
        if status < 400:
            message = f"{origin} redirects elsewhere (HTTP {status}); give the address it leads to"
            return CallFailed("redirect", message, status=status)
        says_no_credit = any(mark in response.body for mark in QUOTA_MARKS)
        says_wrong_key = any(mark in response.body for mark in REFUSED_MARKS)
        if status in QUOTA_STATUSES or (status in {403, 429} and says_no_credit):
            message = f"the account at {origin} is used up (HTTP {status}){response.quote()}"
            return CallFailed("quota", message, status=status)
        if status in {401, 403} or (status == 400 and says_wrong_key):
            message = f"{origin} refused access (HTTP {status}); the key is missing, wrong or banned{response.quote()}"
            return CallFailed("auth", message, status=status)
        is_busy = status == 400 and any(mark in response.body for mark in BUSY_MARKS)
        may_retry = True if is_busy else should_retry(response.headers)  # None: the status decides
        hint = f": {HINTS[status]}" if status in HINTS else ""
        return CallFailed(
            f"http-{status}",
            f"{origin} answered with HTTP status {status}{hint}{response.quote()}",
            retriable=status in retriable if may_retry is None else may_retry,
            retry_after_s=parse_retry_after(response.headers, self.now()),
            status=status,
        )


@asynccontextmanager
async def _resolving(url: str, timeout_s: float) -> AsyncIterator[Origin]:
    """Parse the origin of a URL; the block may take `timeout_s` seconds to resolve its host name."""
    origin = origin_of(url)
    try:
        async with asyncio.timeout(timeout_s):
            yield origin
    except TimeoutError:
        raise CallFailed("timeout", f"the host name {origin.host} was not resolved within {timeout_s:g} s") from None


@lru_cache(maxsize=256)
def request_target_of(url: str) -> str | None:
    """Return the encoded path and query of a URL, or ``None`` if it is invalid; cached, since calls repeat URLs."""
    try:
        return httpx.URL(url).raw_path.decode("ascii")
    except httpx.InvalidURL:
        return None


def _refuse_constant(name: str) -> NoReturn:
    """Raise `ValueError` for ``NaN`` and ``Infinity``, which are no JSON, although Python's parser accepts them."""
    raise ValueError(name)


def _parse_finite(digits: str) -> float:
    """Parse a number; raise `ValueError` for ``1e999``, which would become infinity."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number
