"""One HTTP/1.1 connection: one request at a time, the whole answer at once.

`h11` knows the protocol; this class moves bytes and keeps the limits. An answer is refused as soon
as its head says that it is compressed, and cut as soon as it outgrows the cap, so that neither a
bomb nor an endless body is ever held in memory.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import cast

import h11

from workers.egress.failures import CallFailed

HEADER_CAP = 32 * 1024
"""Bytes of status line and headers (or of one chunk's head, or of trailers) that are read."""

WASTE = 8
"""Bytes that may come over the wire for each byte of body that is read.

Hints (1xx), the heads of tiny chunks and their extensions count for nothing else, and could keep us
reading until the deadline.
"""

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Received:
    """A complete answer; header names are in lower case."""

    status: int
    headers: Headers
    body: bytes


class ClosedUnheard(Exception):
    """The connection ended before a byte of the answer: a kept one may just have been stale."""


class Connection(asyncio.Protocol):
    """A connection to one place.

    Parameters
    ----------
    name : str
        Host (and port) for messages.
    response_cap : int
        Most bytes of body that are read, unless a request says otherwise.
    whole : bool
        Whether an answer that is longer is refused, or else cut there and taken for what it is.

    Attributes
    ----------
    reusable : bool
        Whether another request may be sent now.
    idle_since : float
        When the last answer was complete, by the loop's clock.
    """

    def __init__(self, name: str, response_cap: int, *, whole: bool = True) -> None:
        self.reusable, self.idle_since = False, 0.0
        self._name, self._usual_cap, self._cap, self._whole = name, response_cap, response_cap, whole
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEADER_CAP)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Received] | None = None
        self._head: h11.Response | None = None
        self._body = bytearray()
        self._heard = 0

    async def exchange(self, request: h11.Request, body: bytes, cap: int | None = None) -> Received:
        """Send a request and wait for its whole answer, of at most `cap` bytes if that is given.

        Raises
        ------
        ClosedUnheard
            If the connection ended without a byte.
        CallFailed
            If the answer is not one we accept.
        h11.LocalProtocolError
            If the request itself cannot be sent; the message may hold header values.
        """
        wire = [self._http.send(request) or b"", self._http.send(h11.Data(data=body)) or b"" if body else b""]
        wire.append(self._http.send(h11.EndOfMessage()) or b"")
        if self._transport is None or self._transport.is_closing():
            raise ClosedUnheard
        self.reusable, self._heard, self._head, self._body = False, 0, None, bytearray()
        self._cap = self._usual_cap if cap is None else cap
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(b"".join(wire))
        try:
            return await self._answer
        except BaseException:  # also when the caller's deadline cancels us: half an answer may be on its way
            self.abort()
            raise
        finally:
            self._answer = None

    def abort(self) -> None:
        """Drop the connection at once."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------------ called by the event loop
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin: the connection (and its TLS handshake) is made."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take bytes of the answer; without a question they end the connection."""
        if self._answer is None or self._answer.done():
            self.abort()  # nobody asked: never let it pass for the next answer
            return
        self._heard += len(data)
        self._feed(data, ended=False)
        if self._heard > WASTE * self._cap + HEADER_CAP:
            self._fail(CallFailed("too-large", f"{self._name} sent much more around its answer than the answer"))

    def eof_received(self) -> None:
        """Take the end of what the service sends."""
        self._feed(b"", ended=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end of the connection; whoever waits is told."""
        self.reusable = False
        if exc is None:
            self._feed(b"", ended=True)  # the end of a body that lasts until the connection closes
        self._fail(self._cut())

    # ------------------------------------------------------------------ reading
    def _feed(self, data: bytes, *, ended: bool) -> None:
        if self._answer is None or self._answer.done():
            return
        try:
            self._http.receive_data(data)
            self._read()
        except h11.RemoteProtocolError as broken:
            self._fail(self._cut() if ended else self._garbled(broken))
        except CallFailed as failed:
            self._fail(failed)

    def _read(self) -> None:
        """Take every event the bytes so far make."""
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > self._cap:
                    if not self._whole:
                        self._stop_early()
                        return
                    raise CallFailed("too-large", f"{self._name} sent more than {self._cap:,} bytes")
            elif isinstance(event, h11.Response):
                self._take_head(event)
            elif isinstance(event, h11.EndOfMessage):
                self._finish()
                return
            elif not isinstance(event, h11.InformationalResponse):  # it needs more bytes, or is over
                return

    def _take_head(self, head: h11.Response) -> None:
        if _size(head) > HEADER_CAP:  # h11 counts a head only while it is incomplete; this one came at once
            raise self._large_head()
        if {name for name, _ in head.headers} >= {b"content-length", b"transfer-encoding"}:
            # two readers could see two different ends (RFC 9112, section 6.3): one answer smuggled behind another
            raise CallFailed("garbage", f"{self._name} gave its answer two lengths (Content-Length and chunks)")
        for name, value in head.headers:
            if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity") and self._whole:
                raise CallFailed(
                    "encoded-body", f"{self._name} compressed its answer although it was asked not to; turn that off"
                )
            if name == b"content-length" and int(value) > self._cap and self._whole:
                raise CallFailed("too-large", f"{self._name} announced more than {self._cap:,} bytes")
        self._head = head

    def _finish(self) -> None:
        head = self._head
        if head is None or self._answer is None:
            raise h11.RemoteProtocolError("an end without a beginning")
        unasked = self._http.trailing_data[0]
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE and not unasked:
            self._http.start_next_cycle()
            self.reusable = True
            self.idle_since = asyncio.get_running_loop().time()
        elif self._transport is not None:
            self._transport.close()
        self._answer.set_result(Received(head.status_code, list(head.headers), bytes(self._body)))

    def _stop_early(self) -> None:
        """Answer with what has come, and hear no more."""
        if self._head is not None and self._answer is not None:
            body = bytes(self._body[: self._cap])
            self._answer.set_result(Received(self._head.status_code, list(self._head.headers), body))
        self.abort()

    def _fail(self, failure: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(failure)
        if self._transport is not None:
            self._transport.abort()

    def _cut(self) -> Exception:
        if not self._heard:
            return ClosedUnheard()
        return CallFailed("truncated", f"{self._name} closed the connection in the middle of its answer")

    def _garbled(self, broken: h11.RemoteProtocolError) -> CallFailed:
        if broken.error_status_hint == 431:  # h11's word for a head that outgrew its limit
            return self._large_head()
        return CallFailed("garbage", f"{self._name} answered something that is not HTTP/1.1")

    def _large_head(self) -> CallFailed:
        return CallFailed("too-large", f"{self._name} sent headers of more than {HEADER_CAP:,} bytes")


def _size(head: h11.Response) -> int:
    """Count the bytes of a head but those of its first line that are always the same."""
    return len(head.reason) + sum(len(name) + len(value) + len(": \r\n") for name, value in head.headers)
