"""The asynchronous client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack, overload

import httpx

from assay_client import waiting
from assay_client.call import IDEMPOTENCY_KEY, Call, as_response
from assay_client.connection import DEFAULT_TIMEOUT_S, RatingOptions, new_idempotency_key, options, rating_request
from assay_client.documents import Job, Rating, RatingRequestExperiment, RatingRequestTarget, Suite
from assay_client.errors import ProblemError, Unreachable
from assay_client.events import Event, EventStream, closed_early
from assay_client.exchange import Ended, Flow, Outcome, Patience, Pause, exchanged, no_answer, page, resume
from assay_client.operations import AsyncOperations

T = TypeVar("T")


class AsyncClient(AsyncOperations):
    """An asynchronous client of an agency.

    Its methods are those of `Client`, to be awaited; its iterators are for ``async for``.

    Parameters
    ----------
    base_url : str
        Address of the agency, such as ``http://127.0.0.1:8000``.
    key : str, optional
        API key, ``assay_…``; leave it out if the agency asks for none.
    timeout_s : float
        Seconds to wait for a connection and for each part of an answer. Keep it above 30: the
        service may hold an answer back for so long.
    patience : Patience, optional
        How often, and after how long, a request is sent again.
    transport : httpx.AsyncBaseTransport, optional
        Replaces the network: for a proxy, own certificates, or an application in this process.
    sleep : callable
        Pauses for a number of seconds.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        patience: Patience | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = httpx.AsyncClient(**options(base_url, key, timeout_s), transport=transport)
        self._patience, self._sleep = patience or Patience(), sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    @overload
    async def rate(
        self,
        target: RatingRequestTarget,
        experiment: RatingRequestExperiment,
        *,
        wait: Literal[True] = True,
        timeout_s: float | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[RatingOptions],
    ) -> Rating: ...

    @overload
    async def rate(
        self,
        target: RatingRequestTarget,
        experiment: RatingRequestExperiment,
        *,
        wait: Literal[False],
        timeout_s: float | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[RatingOptions],
    ) -> Job: ...

    async def rate(
        self,
        target: RatingRequestTarget,
        experiment: RatingRequestExperiment,
        *,
        wait: bool = True,
        timeout_s: float | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[RatingOptions],
    ) -> Rating | Job:
        """Request a rating of a service and return it; see `Client.rate`."""
        body, key = rating_request(target, experiment, more), idempotency_key or new_idempotency_key()
        if not wait:
            return await self._run(waiting.requested(body, key, self._patience))
        return await self._run(waiting.rated(body, key, timeout_s, self._patience, time.monotonic))

    async def wait_for_job(self, job_id: str, timeout_s: float | None = None) -> Job:
        """Wait until a job has succeeded, failed or been cancelled; raise `StillRunning` after `timeout_s`."""
        return await self._run(waiting.job_ended(job_id, timeout_s, self._patience, time.monotonic))

    async def wait_for_suite(self, suite_id: str, timeout_s: float | None = None) -> Suite:
        """Wait until every job of a suite has ended; raise `StillRunning` after `timeout_s`."""
        return await self._run(waiting.suite_ended(suite_id, timeout_s, self._patience, time.monotonic))

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        json: Any = None,
        idempotency_key: str | None = None,
    ) -> httpx.Response:
        """Send any request and return the whole answer: status, headers, links and raw JSON."""
        headers = {IDEMPOTENCY_KEY: idempotency_key}
        return await self._send(Call(method.upper(), path, as_response, query or {}, headers, json))

    async def _send(self, call: Call[T]) -> T:
        return await self._run(exchanged(call, self._patience))

    async def _pages(self, call: Call[Any]) -> AsyncIterator[Any]:
        following: Call[Any] | None = call
        while following is not None:
            found = await self._run(page(following, self._patience))
            for item in found.items:
                yield item
            following = found.following

    async def _events(self, call: Call[Any]) -> AsyncIterator[Event]:
        stream = EventStream(call, self._patience)
        while not stream.ended:
            try:
                response = await self._http.send(stream.call.request(self._http), stream=True)
                try:
                    if response.status_code == httpx.codes.NO_CONTENT:
                        return
                    if not response.is_success:
                        await response.aread()
                        raise ProblemError.of(response)
                    async for chunk in response.aiter_bytes():
                        for event in stream.read(chunk):
                            yield event
                finally:
                    await response.aclose()
                failure: ProblemError | Unreachable = closed_early(call)
            except httpx.RequestError as why:
                failure = no_answer(call, why)
            except ProblemError as why:
                failure = why
            if not stream.ended:
                await self._sleep(stream.interrupted(failure))

    async def _run(self, flow: Flow[T]) -> T:
        outcome: Outcome = None
        while True:
            step = resume(flow, outcome)
            if isinstance(step, Ended):
                return step.result
            if isinstance(step, Pause):
                await self._sleep(step.seconds)
                outcome = None
                continue
            try:
                outcome = await self._http.send(step.call.request(self._http))
            except httpx.RequestError as why:
                outcome = why
