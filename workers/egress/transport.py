"""HTTP transport over aiohttp, with the guard in its connector.

The pool of httpx is slow for concurrent calls. Assay has its own connector because the guard must check an address
between name resolution and connection (`docs/decisions/0042-calls-over-aiohttp.md`).
"""

import asyncio
import io
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from assay.document import JsonObject
from workers.egress.connection import HEADER_CAP, ClosedWithoutResponse, Listener, ReceivedResponse
from workers.egress.failures import CallFailed
from workers.egress.guard import Address, Guard, Network, Origin, Resolve, read_origin, resolve, within

IDLE_S = 15.0
"""Maximum idle time of a reusable connection in seconds; servers close idle connections after 5 s or more."""

DIAL_S = 5.0
"""Timeout in seconds for connecting to each address except the last, which may take until the call's deadline."""

MAX_ADDRESSES = 4

LARGE_BODY = 1024 * 1024
"""Size of a request body in bytes from which aiohttp warns unless the body can be streamed."""

SESSION_OPTIONS: Mapping[str, Any] = {
    # aiohttp's timeouts are off: only the caller's deadline counts
    "timeout": aiohttp.ClientTimeout(total=None, sock_connect=None),
    "auto_decompress": False,
    "trust_env": False,
    "max_line_size": HEADER_CAP,
    "max_field_size": HEADER_CAP,
    "max_headers": HEADER_CAP // 4,  # the shortest header has 4 bytes
}
"""Arguments of aiohttp's session: no timeouts, decompression or environment variables of its own; header limits."""

NewConnection = tuple[asyncio.BaseTransport, asyncio.BaseProtocol]
Dial = Callable[[Callable[[], asyncio.Protocol], str, int, ssl.SSLContext | None, str | None], Awaitable[NewConnection]]
"""Function that connects a protocol to a literal address and port, with TLS for a host name if a context is given."""

MakeContext = Callable[[], ssl.SSLContext]
"""Function that makes a context with the trusted certificates."""


async def dial(
    factory: Callable[[], asyncio.Protocol], address: str, port: int, tls: ssl.SSLContext | None, host: str | None
) -> NewConnection:
    """Connect to a literal address and port, with TLS if a context is given; see `Dial`."""
    return await asyncio.get_running_loop().create_connection(factory, address, port, ssl=tls, server_hostname=host)


def default_context() -> ssl.SSLContext:
    """Return a context with the certificates of httpx and the system, host name checks, and TLS 1.2 or later."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # some distributions build Python without this default
    # without finite-field Diffie-Hellman, whose group a service may choose so large that a handshake takes a second
    context.set_ciphers("@SECLEVEL=2:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES")
    context.set_alpn_protocols(["http/1.1"])
    return context


def certified_context(make_context: MakeContext, certificate: str) -> ssl.SSLContext:
    """Return a context with a client certificate and its key (PEM).

    OpenSSL reads both from files only, so they are written to a file in memory, which never reaches a disk.
    """
    context = make_context()
    with open(os.memfd_create("client-certificate"), "wb", buffering=0) as file:
        file.write(certificate.encode())
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return context


@dataclass
class ExemptHosts:
    """Hosts whose addresses are all in the operator's own `networks`, so that the limits of hosts do not apply.

    A name that resolved to these networks may resolve to other addresses later. Therefore a connection of an exempt
    host is opened to these networks only; a host with other addresses is no longer exempt.
    """

    networks: Sequence[Network]
    guard: Guard
    _is_exempt: dict[tuple[str, int], bool] = field(default_factory=dict)
    _addresses: dict[tuple[str, int], Sequence[str]] = field(default_factory=dict)

    async def holds(self, origin: Origin) -> bool:
        """Whether a host is exempt from the host limits; its addresses are resolved once."""
        key = (origin.host, origin.port)
        if key not in self._is_exempt:
            # keeps a result that another call has stored during the resolution
            self._is_exempt.setdefault(key, within(await self._resolve_and_store(origin), self.networks))
        return self._is_exempt[key]

    async def addresses_of(self, origin: Origin) -> Sequence[str]:
        """Return the address of the latest connection to a host; before the first connection, those to be tried."""
        if (origin.host, origin.port) not in self._addresses:
            await self._resolve_and_store(origin)
        return self._addresses[origin.host, origin.port]

    async def _resolve_and_store(self, origin: Origin) -> Sequence[Address]:
        """Resolve the addresses of a host, and store the first `MAX_ADDRESSES`, to which connections are tried."""
        addresses = await self.guard.addresses(origin)
        self._addresses[origin.host, origin.port] = [str(address) for address in addresses[:MAX_ADDRESSES]]
        return addresses  # all: a host is exempt only if none of its addresses is outside the networks

    def store_connected(self, origin: Origin, address: Address) -> None:
        """Store the address of the latest connection to a host."""
        self._addresses[origin.host, origin.port] = [str(address)]

    def check(self, origin: Origin, addresses: Sequence[Address]) -> None:
        """Raise `CallFailed` ``connect`` if an exempt host has other addresses now; for a retry, it is not exempt."""
        key = (origin.host, origin.port)
        if self._is_exempt.get(key) and not within(addresses, self.networks):
            self._is_exempt[key] = False
            raise CallFailed("connect", f"{origin} has other addresses than before")


class GuardedConnector(aiohttp.BaseConnector):
    """Connector that opens only connections that the guard allows, and reuses them."""

    def __init__(
        self,
        dial: Dial,
        make_context: Callable[[], ssl.SSLContext],
        exempt_hosts: ExemptHosts,
        *,
        refuses_long: bool,  # refuses a response that is too long, instead of truncating it
    ) -> None:
        super().__init__(limit=0, keepalive_timeout=IDLE_S)
        self._dial, self._make_context, self._refuses_long = dial, make_context, refuses_long
        self._exempt_hosts = exempt_hosts  # hosts without limits; it also stores the addresses of all hosts
        self._guard = exempt_hosts.guard

    async def _create_connection(self, req: aiohttp.ClientRequest, *_: object) -> ResponseHandler:
        """Try the addresses of the target in turn until a connection succeeds."""
        origin = read_origin(str(req.url.origin()))
        addresses = (await self._guard.addresses(origin))[:MAX_ADDRESSES]
        self._exempt_hosts.check(origin, addresses)
        for address in addresses[:-1]:
            try:
                async with asyncio.timeout(DIAL_S):
                    return await self._connect_to(origin, address)
            except TimeoutError:
                continue
            except CallFailed as failed:
                if failed.code != "connect":
                    raise
        return await self._connect_to(origin, addresses[-1])  # no timeout: no other address is left

    async def _connect_to(self, origin: Origin, address: Address) -> ResponseHandler:
        """Connect to one address; the guard checks the peer, since a system may route the connection elsewhere."""
        connection = Listener(str(origin), refuses_long=self._refuses_long, loop=asyncio.get_running_loop())
        tls = self._make_context() if origin.scheme == "https" else None
        host = origin.host if tls else None
        failure: CallFailed | None = None
        try:
            transport, _ = await self._dial(lambda: connection, str(address), origin.port, tls, host)
        except ssl.SSLCertVerificationError as untrusted:
            reason = untrusted.verify_message or "it cannot be verified"
            failure = CallFailed("tls", f"the certificate of {origin} was rejected: {reason.rstrip('.')}")
        except ssl.SSLError:
            failure = CallFailed("tls", f"no TLS could be negotiated with {origin}; is it an http:// address?")
        except OSError as refused:
            failure = CallFailed("connect", f"{origin} cannot be reached ({type(refused).__name__})")
        if failure is not None:  # raised outside the `except` blocks, so that it has no `__context__`
            raise failure
        peer = transport.get_extra_info("peername")
        try:
            self._guard.check_peer(origin, peer[0] if peer else None)
        except CallFailed:
            connection.abort()
            raise
        self._exempt_hosts.store_connected(origin, address)
        return connection


class GuardedTransport:
    """Sends requests over connections that the guard allows.

    Parameters
    ----------
    allow : sequence of network
        Networks that the operator allows in addition to public addresses.
    response_cap : int
        Maximum size of a response body in bytes, unless a request sets another.
    refuses_long : bool
        Whether a longer response is refused; otherwise it is truncated.
    make_context : callable
        Makes the context with the trusted certificates.
    exempt : sequence of network
        Networks of the operator in which the limits of hosts do not apply.
    """

    def __init__(
        self,
        allow: Sequence[Network],
        *,
        response_cap: int,
        refuses_long: bool = True,
        resolve: Resolve = resolve,
        dial: Dial = dial,
        make_context: MakeContext = default_context,
        exempt: Sequence[Network] = (),  # networks whose hosts have no limits
    ) -> None:
        self._response_cap, self._refuses_long = response_cap, refuses_long
        self._make_context, self._dial = make_context, dial
        self.exempt_hosts = ExemptHosts(tuple(exempt), Guard(tuple(allow), resolve))
        self._context: ssl.SSLContext | None = None
        self._session: aiohttp.ClientSession | None = None

    def certified(self, certificate: str) -> Self:
        """Return a copy of the transport with separate connections, which use a client certificate (PEM)."""
        transport = copy(self)
        vars(transport).update(
            _make_context=partial(certified_context, self._make_context, certificate), _context=None, _session=None
        )
        return transport

    async def ask(
        self, origin: Origin, method: str, target: str, headers: Mapping[str, str], body: bytes, cap: int | None = None
    ) -> ReceivedResponse:
        """Request a path and query (`target`); `cap` overrides `response_cap`. Errors are raised as `CallFailed`."""
        data = body if len(body) < LARGE_BODY else io.BytesIO(body)  # aiohttp warns of large bodies without a stream
        request = {
            "method": method,
            "url": URL(f"{origin.scheme}://{origin}{target}", encoded=True),
            "headers": dict(headers),
            "data": data if body else None,
            "read_bufsize": self._response_cap if cap is None else cap,
        }
        if self._session is None:
            self._session = self._new_session()
        try:
            return await self._exchange(origin, self._session, request)
        except ClosedWithoutResponse as closed:
            was_reused = closed.reused
        if was_reused:  # the service closed the idle connection: retry once on a new one
            async with self._new_session() as new_session:
                try:
                    return await self._exchange(origin, new_session, request)
                except ClosedWithoutResponse:
                    pass  # reported below
        raise CallFailed("truncated", f"{origin} closed the connection without an answer")

    async def aclose(self) -> None:
        """Close all idle connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _new_session(self) -> aiohttp.ClientSession:
        connector = GuardedConnector(self._dial, self._ssl_context, self.exempt_hosts, refuses_long=self._refuses_long)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), **SESSION_OPTIONS)

    async def _exchange(self, origin: Origin, session: aiohttp.ClientSession, request: JsonObject) -> ReceivedResponse:
        """Send a request once, and read at most ``read_bufsize`` bytes of the response; turn errors into our own."""
        cap, body = request["read_bufsize"], bytearray()
        failure: Exception
        try:
            answer = await session.request(**request, allow_redirects=False)
            try:
                while len(body) <= cap and (piece := await answer.content.readany()):
                    body += piece
            finally:
                answer.close()
            if self._refuses_long and len(body) > cap:
                raise CallFailed("too-large", f"{origin} sent more than {cap:,} bytes")
            header_pairs = [(name.lower(), value) for name, value in answer.raw_headers]
            return ReceivedResponse(answer.status, header_pairs, bytes(body[:cap]))
        except ValueError:  # the exception's message is not used, because it quotes the value, which may be an API key
            failure = CallFailed("unsupported", f"the request to {origin} holds characters that HTTP cannot carry")
        except aiohttp.ClientPayloadError:
            failure = CallFailed("truncated", f"{origin} closed the connection in the middle of its answer")
        except aiohttp.ClientConnectionError:
            # closed while the request was written: sent once more, although the connection may be a new one
            failure = ClosedWithoutResponse(reused=True)
        raise failure  # outside the `except` blocks, so that it has no `__context__`

    def _ssl_context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self._make_context()
        return self._context
