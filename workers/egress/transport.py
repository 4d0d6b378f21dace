"""httpx's transport interface over guarded, kept connections.

It exists because httpx's own pool slows down as calls run side by side, and because a guard has to
stand between resolving a name and dialling it (`docs/decisions/0002-egress-transport.md`).
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Sequence

import h11
import httpx

from workers.egress.connection import ClosedUnheard, Connection, Received
from workers.egress.connection import Headers as HeaderList
from workers.egress.failures import AddressRefused, CallFailed
from workers.egress.guard import Address, Guard, Network, Place, Resolve, read_place, resolve

IDLE_S = 15.0
"""Seconds a kept connection may rest; servers close theirs after 5 s and more."""

DIAL_S = 5.0
"""Seconds for one of several addresses; a last or only one has the call's whole deadline."""

MAX_ADDRESSES = 4

Made = tuple[asyncio.BaseTransport, asyncio.BaseProtocol]
Dial = Callable[[Callable[[], asyncio.Protocol], str, int, ssl.SSLContext | None, str | None], Awaitable[Made]]
"""Connects a protocol to a literal address and port, with TLS for a host name if a context is given."""


async def dial(
    protocol: Callable[[], asyncio.Protocol], address: str, port: int, tls: ssl.SSLContext | None, host: str | None
) -> Made:
    """Connect to a literal address."""
    return await asyncio.get_running_loop().create_connection(protocol, address, port, ssl=tls, server_hostname=host)


def default_trust() -> ssl.SSLContext:
    """Trust what httpx ships and what this system trusts; check the host name; TLS 1.2 and later."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends requests over connections that the guard let through.

    Parameters
    ----------
    allow : sequence of network
        What the operator allows beside public addresses.
    response_cap : int
        Most bytes of body that are read, unless a request says otherwise.
    whole : bool
        Whether an answer that is longer is refused, or else cut there and taken for what it is.
    resolve, dial : callable
        How names become addresses and addresses connections.
    trust : SSLContext, optional
        Which certificates count. Left out: `default_trust`.
    """

    def __init__(
        self,
        allow: Sequence[Network],
        *,
        response_cap: int,
        whole: bool = True,
        resolve: Resolve = resolve,
        dial: Dial = dial,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = Guard(tuple(allow), resolve)
        self._cap, self._whole, self._dial, self._trust = response_cap, whole, dial, trust
        self._kept: dict[Place, list[Connection]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read its whole answer.

        Raises
        ------
        CallFailed
            For whatever went wrong; nothing of httpx's or h11's own comes out.
        """
        received = await self.call(request)
        return httpx.Response(received.status, headers=received.headers, content=received.body, request=request)

    async def call(self, request: httpx.Request) -> Received:
        """Send a request and read its whole answer, without making an `httpx.Response` of it."""
        place = _place_of(request)
        body = await request.aread()
        return await self.ask(place, request.method, request.url.raw_path, request.headers.raw, body)

    async def ask(
        self, place: Place, method: str, target: bytes, headers: HeaderList, body: bytes, cap: int | None = None
    ) -> Received:
        """Send a request that is already in its parts; `headers` must hold ``Host`` and the body's length.

        This is the way of every call to a target: an `httpx.Request` costs more than sending it.
        """
        plain = _plain(method, target, headers)
        if plain is None:
            raise CallFailed("unsupported", f"the request to {place} holds characters that HTTP headers cannot carry")
        connection = self._reuse(place)
        if connection is not None:
            with contextlib.suppress(ClosedUnheard):  # closed while it rested: once more, on a new one
                return await self._exchange(place, connection, plain, body, cap)
        connection = await self._connect(place)
        try:
            return await self._exchange(place, connection, plain, body, cap)
        except ClosedUnheard:
            raise CallFailed("truncated", f"{place} closed the connection without an answer") from None

    async def aclose(self) -> None:
        """Close every kept connection."""
        kept, self._kept = self._kept, {}
        for connections in kept.values():
            for connection in connections:
                connection.abort()
        await asyncio.sleep(0)  # sockets are closed by the loop's next turn

    async def _exchange(
        self, place: Place, connection: Connection, request: h11.Request, body: bytes, cap: int | None
    ) -> Received:
        received = await connection.exchange(request, body, cap)
        if connection.reusable:
            self._kept.setdefault(place, []).append(connection)
        return received

    def _reuse(self, place: Place) -> Connection | None:
        """Take the connection that rested shortest, if it did not rest too long."""
        oldest = asyncio.get_running_loop().time() - IDLE_S
        kept = self._kept.get(place, [])
        while kept:
            connection = kept.pop()
            if connection.reusable and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    async def _connect(self, place: Place) -> Connection:
        """Dial the place's addresses in turn until one answers."""
        addresses = (await self._guard.addresses(place))[:MAX_ADDRESSES]
        for address in addresses[:-1]:
            try:
                async with asyncio.timeout(DIAL_S):
                    return await self._connect_to(place, address)
            except TimeoutError:
                continue
            except CallFailed as failed:
                if failed.code != "connect":
                    raise
        return await self._connect_to(place, addresses[-1])

    async def _connect_to(self, place: Place, address: Address) -> Connection:
        connection = Connection(str(place), self._cap, whole=self._whole)
        tls = self._tls() if place.scheme == "https" else None
        host = place.host if tls else None
        failure: CallFailed | None = None
        try:
            transport, _ = await self._dial(lambda: connection, str(address), place.port, tls, host)
        except ssl.SSLCertVerificationError as untrusted:
            why = untrusted.verify_message or "it cannot be verified"
            failure = CallFailed("tls", f"the certificate of {place} is refused: {why.rstrip('.')}")
        except ssl.SSLError:
            failure = CallFailed("tls", f"no TLS could be agreed with {place}; is it an http:// address?")
        except OSError as refused:
            failure = CallFailed("connect", f"{place} cannot be reached ({type(refused).__name__})")
        if failure is not None:  # raised here, so that it carries no context with it
            raise failure
        peer = transport.get_extra_info("peername")
        try:
            self._guard.check_peer(place, peer[0] if peer else None)
        except CallFailed:
            connection.abort()
            raise
        return connection

    def _tls(self) -> ssl.SSLContext:
        if self._trust is None:
            self._trust = default_trust()
        return self._trust


def _place_of(request: httpx.Request) -> Place:
    try:
        return read_place(str(request.url))
    except AddressRefused as refused:
        message = str(refused)
    raise CallFailed("refused-address", message)


def _plain(method: str, target: bytes, headers: HeaderList) -> h11.Request | None:
    """Write a request for the wire, or ``None`` if it has characters that would break out of a header."""
    with contextlib.suppress(h11.LocalProtocolError):  # its message quotes the value, which may be a key
        return h11.Request(method=method, target=target, headers=headers)
    return None
