"""Connection that checks received bytes before aiohttp's parser (llhttp) reads them.

That parser is lenient and has no limit for the bytes around a body. `Listener` counts the bytes, validates every
head, and closes a connection with unsolicited bytes. A compressed or too long response is refused by its head, so
that it is never held in memory.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from aiohttp.client_exceptions import ClientError
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import LineTooLong

from workers.egress.failures import CallFailed

HEADER_CAP = 32 * 1024
"""Maximum size of the status line and headers in bytes, including interim responses (1xx)."""

WASTE_FACTOR = 8
"""Maximum bytes received per byte of the body's cap, against tiny chunks, chunk extensions and trailers."""

_FOLDED = re.compile(rb"(?:\A|\n)HTTP/[^\n]*\n[ \t]")
"""Matches a response whose first header line begins with a space or tab; llhttp accepts it, `Listener` refuses."""

READ_SIZE = 1 << 15
"""Maximum number of bytes read from a connection at once."""

_LARGE_HEAD = re.compile(r"Too many headers|overflow:\s+b'(?:content-length: *)?[0-9a-f]{1,20}(?:\\r)?'", re.IGNORECASE)
"""Messages of the parser for too many headers, and for lengths that overflow its counter."""

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class ReceivedResponse:
    """Complete response; header names are in lower case."""

    status: int
    headers: Headers
    body: bytes


class ClosedWithoutResponse(Exception):
    """The connection ended before a response began; a `reused` connection may have been closed while idle."""

    def __init__(self, *, reused: bool) -> None:
        super().__init__()
        self.reused = reused


class Listener(ResponseHandler):
    """Connection to one host and port (`name`).

    If `refuses_long` is true, a response longer than its cap is refused; otherwise it is truncated.
    """

    def __init__(self, name: str, *, refuses_long: bool, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._name, self._refuses_long, self._request_count = name, refuses_long, 0
        self._body_cap, self._received_count, self._head_bytes = 0, 0, bytearray()
        self._body: Any = None

    def set_response_params(self, *, read_bufsize: int = 0, **params: Any) -> None:
        """Prepare for a response. Called by aiohttp; our session passes the body's maximum size as `read_bufsize`."""
        self._body_cap, self._body = read_bufsize, None
        self._received_count, self._head_bytes = 0, bytearray()
        self._request_count += 1
        super().set_response_params(read_bufsize=read_bufsize, **params)

    # ------------------------------------------------------------------ called by the event loop
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Limit the size of reads: a body in chunks of one byte takes forty times its size in memory."""
        transport.max_size = READ_SIZE  # type: ignore[attr-defined]  # an attribute of all socket transports
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Process received bytes; bytes after the response, or without a request, close the connection."""
        if not data:  # empty data means that the reader caught up: the parser continues with its buffer
            super().data_received(data)
            return
        self._received_count += len(data)
        # heads are parsed separately, because an error after a complete response would discard the response
        while data and self._body is None and self._parser is not None:
            head, blank_line, data = data.partition(b"\r\n\r\n")  # without a blank line, all of it is `head`
            self._read_head(head + blank_line)
        # the last byte is parsed separately: if the response ends before it, the service sent more than the response
        for piece in (data[:-1], data[-1:]):
            if piece and (self._body is None or self._body.is_eof()):
                self.abort()
            elif piece:
                super().data_received(piece)
        # true if the body exceeds the cap; the reader stops there by itself
        exceeds_cap = self._body is not None and self._body.total_bytes > self._body_cap
        if self._received_count > WASTE_FACTOR * self._body_cap + HEADER_CAP and not exceeds_cap:
            self._fail_and_abort(CallFailed("too-large", f"{self._name} sent much more framing than content"))

    def connection_lost(self, exc: BaseException | None) -> None:
        """Process the end of the connection; if an error ended it, a body of unknown length is incomplete."""
        if exc is not None:
            self.set_exception(exc)
        super().connection_lost(exc)

    # ------------------------------------------------------------------ called by aiohttp
    def feed_data(self, data: Any, size: int = 0) -> None:
        """Process a head from the parser: drop interim responses, validate all others."""
        message, body = data
        if 100 <= message.code < 200 and message.code != 101:  # 101, another protocol, would be final; it is refused
            return
        self._body = body
        if (failure := self._header_failure(message)) is None:
            super().feed_data(data, size)
        else:
            self._fail_and_abort(failure)

    def pause_reading(self) -> None:
        """Pause reading; close the connection after the response, as buffered bytes may hold more than its end."""
        self.force_close()
        super().pause_reading()

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        """Pass the first failure (`CallFailed`, `ClosedWithoutResponse`) to the readers of the head and the body."""
        if self._exception is not None:
            return
        failure = exc if isinstance(exc, CallFailed) else self._failure_for(exc, exc_cause)
        # taken away from aiohttp, which would parse on, and replace the failure when the connection ends
        body, self._payload, self._parser = self._payload, None, None
        super().set_exception(failure)
        if body is not None and not body.is_eof():
            body.set_exception(failure)

    def close(self) -> None:
        """Close the connection at once, without sending buffered bytes."""
        self.abort()

    # ------------------------------------------------------------------ validation
    def _read_head(self, piece: bytes) -> None:
        """Pass a piece of a head to the parser, unless it is not HTTP; refuse a head beyond `HEADER_CAP`."""
        self._head_bytes += piece
        # the "H" of "HTTP" is checked before the parser, which would skip blank lines before the status line
        if not self._head_bytes.startswith(b"H"):
            self._fail_and_abort(self._invalid_http())
            return
        super().data_received(piece)
        if self._body is None and len(self._head_bytes) > HEADER_CAP:
            self._fail_and_abort(self._too_large_head())

    def _header_failure(self, message: Any) -> CallFailed | None:
        """Return the failure of a response by its parsed head; ``None`` if the body may be read."""
        lengths, codings = message.headers.getall("Content-Length", ()), message.headers.getall("Transfer-Encoding", ())
        # 4: a colon, a space and the line end
        if len(message.reason) + sum(len(name) + len(value) + 4 for name, value in message.raw_headers) > HEADER_CAP:
            return self._too_large_head()
        if len(set(lengths)) > 1 or (lengths and codings):
            # two parsers could disagree about the end (RFC 9112, section 6.3): response smuggling
            return CallFailed("garbage", f"{self._name} stated two lengths for its answer")
        has_valid_coding = [coding.lower() for coding in codings] in ([], ["chunked"])
        if message.code < 200 or _FOLDED.search(self._head_bytes) or not has_valid_coding:
            return self._invalid_http()
        if not self._refuses_long:  # a long body is truncated instead
            return None
        if {encoding.strip().lower() for encoding in message.headers.getall("Content-Encoding", ())} - {"", "identity"}:
            message_text = f"{self._name} compressed its answer although it was asked not to; turn that off"
            return CallFailed("encoded-body", message_text)
        if any(int(length) > self._body_cap for length in lengths):
            return CallFailed("too-large", f"{self._name} announced more than {self._body_cap:,} bytes")
        return None

    def _fail_and_abort(self, failure: CallFailed) -> None:
        self.set_exception(failure)
        if self.transport is not None:
            self.transport.abort()

    def _failure_for(self, exc: BaseException, cause: BaseException | None) -> Exception:
        """Return the failure for an exception of the connection or the parser."""
        if isinstance(exc, (OSError, ClientError)):
            if not self._received_count:
                return ClosedWithoutResponse(reused=self._request_count > 1)
            return CallFailed("truncated", f"{self._name} closed the connection in the middle of its answer")
        if isinstance(cause, LineTooLong) or _LARGE_HEAD.search(str(cause)):
            return self._too_large_head()
        return self._invalid_http()

    def _invalid_http(self) -> CallFailed:
        return CallFailed("garbage", f"{self._name} answered something that is not HTTP/1.1")

    def _too_large_head(self) -> CallFailed:
        return CallFailed("too-large", f"{self._name} sent headers of more than {HEADER_CAP:,} bytes, or a huge length")
