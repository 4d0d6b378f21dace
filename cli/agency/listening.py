"""The service's socket, and the number of connections that the process has file descriptors for."""

from __future__ import annotations

import errno
import resource
import socket
from typing import Any

import structlog

from store.core.settings import Settings

BACKLOG = 2048
"""Connections that may wait to be accepted."""

ACCEPTED_AT_ONCE = 16
"""Connections accepted in a row; refused ones among them are closed before the next."""

RESERVED = 512
"""File descriptors for everything except clients: database, calls to services, files."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

log = structlog.get_logger(__name__)


def allowed_connections(clients: int) -> int:
    """Raise the limit of file descriptors as far as needed and permitted; return how many clients may then connect."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = clients + RESERVED
    if soft != resource.RLIM_INFINITY and soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            log.info("limit of file descriptors raised", before=soft, now=raised)
            soft = raised
        except (ValueError, OSError) as refused:  # the kernel's own limit is lower, as on macOS
            log.warning("limit of file descriptors not raised", limit=soft, reason=str(refused))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return clients
    allowed = max(soft - RESERVED, soft // 2)
    log.warning("fewer connections than usual, for lack of file descriptors", connections=allowed, descriptors=soft)
    return allowed


class ListeningSocket(socket.socket):
    """Socket whose connections are accepted in small numbers, and not at all while file descriptors are exhausted.

    asyncio accepts as many connections in a row as may wait. If no descriptor is free, it logs a traceback and plans
    a pause of one second for *each* of them. Therefore `accept` reports after the first that no other one is waiting.
    """

    _accepted = 0
    _exhausted = False

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; raise `BlockingIOError` if none should be accepted at present."""
        if self._exhausted or self._accepted >= ACCEPTED_AT_ONCE:
            self._exhausted, self._accepted = False, 0
            raise BlockingIOError
        try:
            accepted = super().accept()
        except OSError as failed:
            self._accepted, self._exhausted = 0, failed.errno in _EXHAUSTED
            raise
        self._accepted += 1
        return accepted


def on_loop_error(loop: Any, context: dict[str, Any]) -> None:
    """Log in one line that accepting pauses; handle any other error of an event loop as usual."""
    failed = context.get("exception")
    if isinstance(failed, OSError) and failed.errno in _EXHAUSTED and "socket" in context:
        log.warning("accepting connections paused for a second", reason=failed.strerror)
    else:
        loop.default_exception_handler(context)


def listening(settings: Settings) -> ListeningSocket:
    """Open the service's socket.

    It names its protocol (TCP), because asyncio disables Nagle's algorithm only for such sockets. With
    `socket.create_server`, every answer would take 40 ms longer.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    opened = ListeningSocket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((settings.host, settings.port))
        opened.listen(BACKLOG)
    except OSError:
        opened.close()
        raise
    return opened
