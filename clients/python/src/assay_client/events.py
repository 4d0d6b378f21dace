"""Server-sent events of a job, resumed after a broken connection."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from assay_client.call import Call, as_nothing
from assay_client.errors import ProblemError, Unreachable
from assay_client.exchange import Patience, is_temporary, no_answer

ENDINGS = frozenset({"succeeded", "failed", "cancelled"})
LAST_EVENT_ID = "Last-Event-ID"


@dataclass(frozen=True)
class Event:
    """An event of a job.

    Parameters
    ----------
    id : str
        Id of the event; as ``last_event_id`` it resumes the stream after this event.
    type : str
        ``queued``, ``claimed``, ``stage``, ``progress``, ``released``, ``succeeded``, ``failed`` or ``cancelled``.
    at : str
        Time of the event, as RFC 3339.
    data : dict
        Fields of the event.
    """

    id: str
    type: str
    at: str
    data: dict[str, Any]


class EventStream:
    """Parser of an event stream that keeps its state between chunks and connections. Does no I/O.

    The `call` opens the stream; `patience` limits how often in a row the connection may fail.
    """

    def __init__(self, call: Call[Any], patience: Patience) -> None:
        self.ended = False
        self._call, self._patience, self._failures = call, patience, 0
        self._last_id = call.headers.get(LAST_EVENT_ID)
        self._unparsed, self._fields = b"", dict[str, str]()

    @property
    def call(self) -> Call[None]:
        """The call that opens the stream, or resumes it after the last event that was read."""
        self._unparsed, self._fields = b"", {}  # a new connection begins with a whole event
        headers = {**self._call.headers, "Accept": "text/event-stream", LAST_EVENT_ID: self._last_id}
        return dataclasses.replace(self._call, read=as_nothing, headers=headers)

    def read(self, chunk: bytes) -> Iterator[Event]:
        """Parse a chunk and yield every complete event.

        Lines end with LF; a CR before it is dropped. No other character ends a line, because a text in `data`
        may contain characters that other parsers treat as line ends (U+2028).
        """
        *lines, self._unparsed = (self._unparsed + chunk).split(b"\n")
        for line in lines:
            if event := self._read_line(line.removesuffix(b"\r").decode()):
                self._last_id, self._failures = event.id, 0  # only failures in a row count
                self.ended = event.type in ENDINGS
                yield event

    def _read_line(self, line: str) -> Event | None:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            earlier = self._fields.get(name)  # `data` may have several lines
            self._fields[name] = f"{earlier}\n{value}" if name == "data" and earlier is not None else value
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None  # the line is a comment, which the service sends to keep the connection open
        body = json.loads(fields["data"])
        return Event(fields.get("id", self._last_id or ""), fields.get("event", "message"), body["at"], body["data"])

    def pause_after(self, error: ProblemError | httpx.RequestError | None) -> float:
        """Return the seconds to wait before reconnecting; without an `error`, the service itself closed the stream.

        Raises
        ------
        ProblemError, Unreachable
            If the failure is permanent, or if too many attempts in a row have read nothing.
        """
        call = self._call
        if error is None:
            failure: ProblemError | Unreachable = Unreachable(
                f"{call.method} {call.path} was closed before the job had ended"
            )
        else:
            failure = no_answer(call, error) if isinstance(error, httpx.RequestError) else error
        requested_s = failure.retry_after_s if isinstance(failure, ProblemError) else None
        pause_s = self._patience.pause_s(self._failures, requested_s) if is_temporary(failure) else None
        if pause_s is None:
            raise failure
        self._failures += 1
        return pause_s
