"""Retries and paging as generators without I/O, shared by both clients.

A flow is a generator. It yields a `Call` or a `Pause`, is sent the answer (or thrown httpx's error), and
returns its result. A client carries out each step. So waiting, retries and paging are written once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlsplit

import httpx

from assay_client.call import Call, as_json, as_response
from assay_client.errors import ProblemError, Unreachable

T = TypeVar("T")

TRY_AGAIN = frozenset({429, 503})
IN_FLIGHT = "idempotency-in-flight"


@dataclass(frozen=True)
class Pause:
    """Step of a flow: wait for this many seconds."""

    seconds: float


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The end of a flow, with the flow's result."""

    result: T


Step: TypeAlias = Call[Any] | Pause
"""Step of a flow: a call to send, whose answer resumes the flow, whatever its status; or a pause."""

Outcome: TypeAlias = httpx.Response | httpx.RequestError | None
Flow: TypeAlias = Generator[Step, httpx.Response | None, T]


def resume(flow: Flow[T], outcome: Outcome) -> Step | Ended[T]:
    """Resume a flow with the outcome of its last step (``None`` at first and after a pause); return its next step."""
    try:
        return flow.throw(outcome) if isinstance(outcome, httpx.RequestError) else flow.send(outcome)
    except StopIteration as end:
        return Ended(end.value)


@dataclass(frozen=True)
class Patience:
    """Limits of the retries of a request.

    Only a request that is safe to repeat is sent again: a read, or one with an ``Idempotency-Key``.

    Parameters
    ----------
    retries : int
        Retries after 429, 503 or no answer, at most; 0 turns them off.
    first_pause_s : float
        Seconds before the first retry, unless the service names a time; doubled for each further one.
    longest_pause_s : float
        The longest pause. If the service asks for a longer one, its refusal is raised.
    """

    retries: int = 4
    first_pause_s: float = 0.5
    longest_pause_s: float = 60.0

    def pause_s(self, attempt: int, requested_s: float | None) -> float | None:
        """Return the seconds before retry `attempt` + 1 (`requested_s` if the service named them); ``None``: stop."""
        if attempt >= self.retries:
            return None
        if requested_s is not None:
            return requested_s if requested_s <= self.longest_pause_s else None
        return min(self.first_pause_s * 2.0**attempt, self.longest_pause_s)


def answer_of(call: Call[T], patience: Patience) -> Flow[T]:
    """Send a call, with retries where they are safe, and read its answer.

    Raises
    ------
    ProblemError
        If the service refused the call.
    Unreachable
        If no answer came.
    ValueError
        If the call is not a valid HTTP request, for example with a line break in a header.
    """
    attempt = 0
    while True:
        failure: ProblemError | Unreachable
        try:
            response = yield call
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol) as error:
            raise ValueError(f"{call.method} {call.path} cannot be sent as it is: {error}") from error
        except httpx.RequestError as error:
            failure, requested_s = no_answer(call, error), None  # no answer names a pause
        else:
            if response is None:
                raise TypeError("a request was resumed without its response")
            if response.is_success:
                return call.read(response)
            failure = ProblemError.of(response)
            requested_s = failure.retry_after_s
        pause_s = patience.pause_s(attempt, requested_s) if call.repeatable and is_temporary(failure) else None
        if pause_s is None:
            raise failure
        yield Pause(pause_s)
        attempt += 1


def is_temporary(failure: ProblemError | Unreachable) -> bool:
    """Return whether a failure is temporary: no answer, 429, 503, or an earlier attempt that still runs."""
    return isinstance(failure, Unreachable) or failure.status in TRY_AGAIN or failure.code == IN_FLIGHT


def no_answer(call: Call[Any], error: httpx.RequestError) -> Unreachable:
    """Return the error for a call without an answer."""
    failure = Unreachable(f"no answer to {call.method} {call.path}: {error or type(error).__name__}")
    failure.__cause__ = error
    return failure


@dataclass(frozen=True)
class Page:
    """Items of one page of a list, and the call for the next page (``None`` on the last page)."""

    items: list[Any]
    next_call: Call[Any] | None


def page(call: Call[Any], patience: Patience) -> Flow[Page]:
    """Read one page of a list, and the call for the next page from ``Link: <…>; rel="next"`` (RFC 8288).

    Only the query of the link is used, so that no answer can send the API key to another address.
    """
    response = yield from answer_of(dataclasses.replace(call, read=as_response), patience)
    link = response.links.get("next")
    next_call = dataclasses.replace(call, query=dict(parse_qsl(urlsplit(link["url"]).query))) if link else None
    return Page(as_json(response)["items"], next_call)
