"""The HTTP server: uvicorn with limits on connections and slow requests, which ends long waits when it stops."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from types import FrameType
from typing import Any, ClassVar

import h11
import structlog
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cli.agency.listening import allowed_connections, on_loop_error

BYTES_PER_S = 2_000
"""Slowest rate at which a request may arrive, after `BoundedProtocol.patience_s`."""

MOST_CHUNKS, BYTES_PER_CHUNK = 4_096, 512
"""A body may have `MOST_CHUNKS` chunks, and one more per `BYTES_PER_CHUNK` bytes; reading a chunk takes 0.01 ms."""

log = structlog.get_logger(__name__)


class BoundedConnection(h11.Connection):
    """Parser of requests that refuses a body in too many small chunks."""

    _chunks = _bytes = 0

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """Return the next part of a request.

        Raise `h11.RemoteProtocolError` if the part is invalid, or the chunks of the body are too many for its length.
        """
        event = super().next_event()
        if type(event) is h11.Data:
            self._chunks += event.chunk_end
            self._bytes += len(event.data)
            if self._chunks > MOST_CHUNKS + self._bytes // BYTES_PER_CHUNK:
                raise h11.RemoteProtocolError("the body has too many small chunks")
        elif type(event) is h11.Request:
            self._chunks = self._bytes = 0
        return event


class BoundedProtocol(H11Protocol):
    """A connection that is closed if there are too many connections, or if its request arrives too slowly.

    Connections from `trusted` proxies, which limit each caller themselves, count in the total, but not per peer. Every
    `check_s` seconds, a connection is closed if its request is still incomplete after `patience_s` seconds plus one
    second for each `BYTES_PER_S` bytes received.
    """

    trusted: ClassVar[Sequence[IPv4Network | IPv6Network]] = ()

    max_connections = 4_000
    max_per_peer = 200
    patience_s = 15.0
    check_s = 1.0
    peers: ClassVar[Counter[str]] = Counter()

    def __init__(self, config: uvicorn.Config, *positional: Any, **options: Any) -> None:
        super().__init__(config, *positional, **options)
        self.conn = BoundedConnection(h11.SERVER)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count a new connection, or refuse it."""
        super().connection_made(transport)
        self._waiting_since, self._received = self.loop.time(), 0
        self._peer = self.client[0] if self.client else ""
        self.peers[self._peer] += 1
        self._check_timer = self.loop.call_later(self.check_s, self._check_progress)
        crowded = self.peers[self._peer] > self.max_per_peer and not self._is_trusted()
        if crowded or len(self.connections) > self.max_connections:
            log.warning("connection refused", peer=self._peer, connections=len(self.connections))
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting a closed connection."""
        self._check_timer.cancel()
        self.peers[self._peer] -= 1
        if not self.peers[self._peer]:
            del self.peers[self._peer]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        self._received += len(data)
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request, or end its connection if the answer has begun."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request of the connection."""
        self._waiting_since, self._received = self.loop.time(), 0
        super().on_response_complete()

    def _is_trusted(self) -> bool:
        # a Unix socket has no peer address, and only this machine's programs reach it
        return not self._peer or any(ip_address(self._peer) in network for network in self.trusted)

    def _check_progress(self) -> None:
        self._check_timer = self.loop.call_later(self.check_s, self._check_progress)
        incomplete = self.conn.their_state in {h11.IDLE, h11.SEND_BODY}
        waited_s = self.loop.time() - self._waiting_since
        if incomplete and self.transport.is_reading() and waited_s > self.patience_s + self._received / BYTES_PER_S:
            log.info("slow request cut off", peer=self._peer, received=self._received)
            self.transport.abort()


class Server(uvicorn.Server):
    """A server that ends long polls when it is asked to stop, so that they are answered instead of cut off.

    `on_stop` is called in the signal handler.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until stopped; without a free file descriptor, accepting pauses."""
        asyncio.get_running_loop().set_exception_handler(on_loop_error)
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Call `on_stop`, then stop the server."""
        self._on_stop()
        super().handle_exit(sig, frame)


def server_config(app: Any, trusted: Sequence[IPv4Network | IPv6Network]) -> uvicorn.Config:
    """Return the configuration of the server.

    A caller's address and scheme come from the headers of a `trusted` proxy, or else from the connection.
    """
    bounds = {"trusted": tuple(trusted), "max_connections": allowed_connections(BoundedProtocol.max_connections)}
    protocol = type("TrustingProtocol", (BoundedProtocol,), bounds)
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
        http=protocol,
        loop="asyncio",  # `ListeningSocket` and `on_loop_error` belong to it
        forwarded_allow_ips=[str(network) for network in trusted],
    )
