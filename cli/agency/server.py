"""The HTTP server and its socket: uvicorn with limits on connections and slow requests.

It accepts as many connections as there are file descriptors for, and ends long waits when it stops.
"""

import asyncio
import errno
import resource
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

from store.core.settings import Settings

BACKLOG = 2048
"""Connections that may wait to be accepted."""

ACCEPTED_AT_ONCE = 16
"""Connections accepted in a row; those that are refused are closed before more are accepted."""

RESERVED = 512
"""File descriptors for everything except clients: database, calls to services, files."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

log = structlog.get_logger(__name__)


def allowed_connections(clients: int) -> int:
    """Raise the limit of file descriptors as far as needed and permitted; return how many clients may then connect."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed_files = clients + RESERVED  # a descriptor for each client, and others for the agency itself
    if soft != resource.RLIM_INFINITY and soft < needed_files:
        new_limit = needed_files if hard == resource.RLIM_INFINITY else min(needed_files, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard))
            log.info("limit of file descriptors raised", before=soft, now=new_limit)
            soft = new_limit
        except (ValueError, OSError) as refused:  # the kernel's own limit is lower, as on macOS
            log.warning("limit of file descriptors not raised", limit=soft, reason=str(refused))
    if soft == resource.RLIM_INFINITY or soft >= needed_files:
        return clients
    clients = max(soft - RESERVED, soft // 2)  # half of the descriptors, if they are few
    log.warning("fewer connections than usual, for lack of file descriptors", connections=clients, descriptors=soft)
    return clients


class ListeningSocket(socket.socket):
    """Socket whose connections are accepted in small numbers, and not at all while file descriptors are exhausted.

    asyncio accepts as many connections in a row as may wait. If no descriptor is free, it logs a traceback and plans
    a pause of one second for *each* of them. Therefore `accept` reports after one failure that no other is waiting.
    """

    _accepted_in_row = 0
    _exhausted = False

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; raise `BlockingIOError` after `ACCEPTED_AT_ONCE` in a row, or once after a failure."""
        if self._exhausted or self._accepted_in_row >= ACCEPTED_AT_ONCE:
            self._exhausted, self._accepted_in_row = False, 0
            raise BlockingIOError  # the event loop goes on with other work, and comes back for those that wait
        try:
            connection_and_address = super().accept()
        except OSError as failed:
            self._accepted_in_row, self._exhausted = 0, failed.errno in _EXHAUSTED  # for lack of descriptors
            raise
        self._accepted_in_row += 1
        return connection_and_address


def on_loop_error(loop: Any, context: dict[str, Any]) -> None:
    """If no connection can be accepted now, log that in one line; handle any other error of an event loop as usual."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in _EXHAUSTED and "socket" in context:
        log.warning("accepting connections paused for a second", reason=error.strerror)
    else:
        loop.default_exception_handler(context)


def listening(settings: Settings) -> ListeningSocket:
    """Open the socket on which the agency's API listens.

    The socket names its protocol (TCP), because asyncio disables Nagle's algorithm only for such sockets. With
    `socket.create_server`, every answer would take 40 ms longer.
    """
    address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    opened_socket = ListeningSocket(address_family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened_socket.bind((settings.host, settings.port))
        opened_socket.listen(BACKLOG)
    except OSError as error:
        opened_socket.close()
        address = f"{settings.host} at port {settings.port}"
        cause = "another program listens there" if error.errno == errno.EADDRINUSE else error.strerror
        raise OSError(f"cannot listen on {address}: {cause}; choose another port with --port") from error
    return opened_socket


BYTES_PER_S = 2_000
"""Slowest rate at which a request may arrive, after `BoundedProtocol.patience_s`."""

MOST_CHUNKS, BYTES_PER_CHUNK = 4_096, 512
"""A body may have `MOST_CHUNKS` chunks, and one more per `BYTES_PER_CHUNK` bytes; reading a chunk takes 0.01 ms."""


class BoundedConnection(h11.Connection):
    """Parser of requests that refuses a body in too many small chunks."""

    _chunks = _bytes = 0

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """Return the next part of a request; raise `h11.RemoteProtocolError` if it is invalid or in too many chunks."""
        event = super().next_event()
        if type(event) is h11.Data:
            self._chunks += event.chunk_end  # a Boolean: a long chunk arrives as several events
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
        """Count a new connection; refuse it if there are too many in all, or of the same peer."""
        super().connection_made(transport)
        self._waiting_since, self._received = self.loop.time(), 0  # since when, and bytes received since
        self._peer = self.client[0] if self.client else ""
        self.peers[self._peer] += 1
        self._check_timer = self.loop.call_later(self.check_s, self._check_progress)
        is_crowded = self.peers[self._peer] > self.max_per_peer and not self._is_trusted()
        if is_crowded or len(self.connections) > self.max_connections:
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
        """Receive a part of a request, and count its bytes."""
        self._received += len(data)
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request, or end its connection if the answer has begun."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:  # no answer has begun
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def on_response_complete(self) -> None:
        """Begin to measure the time and the bytes of the connection's next request."""
        self._waiting_since, self._received = self.loop.time(), 0
        super().on_response_complete()

    def _is_trusted(self) -> bool:
        # a Unix socket has no peer address, and only this machine's programs reach it
        return not self._peer or any(ip_address(self._peer) in network for network in self.trusted)

    def _check_progress(self) -> None:
        """Cut the connection if a request arrives too slowly (see `BoundedProtocol`); check again after `check_s`."""
        self._check_timer = self.loop.call_later(self.check_s, self._check_progress)
        is_incomplete = self.conn.their_state in {h11.IDLE, h11.SEND_BODY}
        waited_s = self.loop.time() - self._waiting_since
        # while uvicorn does not read, the application is slow and not the client
        if is_incomplete and self.transport.is_reading() and waited_s > self.patience_s + self._received / BYTES_PER_S:
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


def server_config(app: Any, trusted_networks: Sequence[IPv4Network | IPv6Network]) -> uvicorn.Config:
    """Return the configuration of the server.

    A caller's address and scheme come from the headers of a `trusted_networks` proxy, or else from the connection.
    """
    max_connections = allowed_connections(BoundedProtocol.max_connections)
    bounds = {"trusted": tuple(trusted_networks), "max_connections": max_connections}
    protocol = type("TrustingProtocol", (BoundedProtocol,), bounds)  # uvicorn takes a class, not an instance
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,  # seconds
        http=protocol,
        loop="asyncio",  # `ListeningSocket` and `on_loop_error` belong to it
        forwarded_allow_ips=[str(network) for network in trusted_networks],
    )
