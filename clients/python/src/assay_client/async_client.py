"""The asynchronous client, from which `build_operations.py` generates the synchronous one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Literal, Self, TypeVar, Unpack, overload

import httpx

from assay_client import waiting
from assay_client.call import IDEMPOTENCY_KEY, Call, as_response
from assay_client.connection import DEFAULT_TIMEOUT_S, RateOptions, options
from assay_client.documents import Job, Rating, Suite
from assay_client.documents import RatingRequestExperiment as Experiment
from assay_client.documents import RatingRequestTarget as Target
from assay_client.errors import ProblemError
from assay_client.events import Event, EventStream
from assay_client.exchange import Ended, Flow, Outcome, Patience, Pause, answer_of, page, resume
from assay_client.operations import AsyncOperations

T = TypeVar("T")


class AsyncClient(AsyncOperations):
    """An asynchronous client of an agency.

    It has a method for every operation of the API, named after its ``operationId`` (``getJob`` is
    `get_job`), an iterator for every list (`iter_ratings`), and `rate`, `wait_for_job` and
    `wait_for_suite`, which send several requests. It may be shared between tasks of one event loop.

    Parameters
    ----------
    base_url : str
        Address of the agency, such as ``http://127.0.0.1:8000``.
    key : str, optional
        API key, ``assay_…``; leave it out if the agency asks for none.
    timeout_s : float
        Seconds to wait for a connection and for each part of an answer. Keep it above 30, because
        the service may hold an answer back for so long.
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

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client's connections."""
        await self._http.aclose()

    @overload
    async def rate(
        self, target: Target, experiment: Experiment, *, wait: Literal[True] = True, **options: Unpack[RateOptions]
    ) -> Rating: ...

    @overload
    async def rate(
        self, target: Target, experiment: Experiment, *, wait: Literal[False], **options: Unpack[RateOptions]
    ) -> Job: ...

    async def rate(
        self, target: Target, experiment: Experiment, *, wait: bool = True, **options: Unpack[RateOptions]
    ) -> Rating | Job:
        """Request a rating of a service and return it.

        Parameters
        ----------
        target, experiment : dict
            The service and the method; see `documents.TargetDescription` and, for example,
            `documents.RoundTrip`.
        wait : bool
            False returns the job at once, for `wait_for_job`, `follow_job` or a webhook.
        timeout_s : float, optional
            Seconds to wait for the job. Without it the wait ends with the job, by its ``deadline_s`` at the latest.
        idempotency_key : str, optional
            Key under which the request is safe to send again; a new one by default.
        **options
            ``seed``, ``max_age_s``, ``visibility``, ``callback_url``, ``deadline_s``, ``max_calls``.

        Raises
        ------
        ProblemError
            If the request was refused.
        JobFailed
            If the job failed or was cancelled.
        StillRunning
            If the job has not ended after `timeout_s`.
        Unreachable
            If no answer came.
        """
        if not wait:
            return await self._run(waiting.new_job(target, experiment, options, self._patience))
        return await self._run(waiting.new_rating(target, experiment, options, self._patience))

    async def wait_for_job(self, job_id: str, timeout_s: float | None = None) -> Job:
        """Wait until a job has succeeded, failed or been cancelled; raise `StillRunning` after `timeout_s`."""
        return await self._run(waiting.finished_job(job_id, timeout_s, self._patience))

    async def wait_for_suite(self, suite_id: str, timeout_s: float | None = None) -> Suite:
        """Wait until every job of a suite has ended; raise `StillRunning` after `timeout_s`."""
        return await self._run(waiting.finished_suite(suite_id, timeout_s, self._patience))

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
        return await self._send(Call(method.upper(), path, as_response, query=query or {}, headers=headers, json=json))

    async def _send(self, call: Call[T]) -> T:
        return await self._run(answer_of(call, self._patience))

    async def _pages(self, call: Call[Any]) -> AsyncIterator[Any]:
        next_call: Call[Any] | None = call
        while next_call is not None:
            page_content = await self._run(page(next_call, self._patience))
            for item in page_content.items:
                yield item
            next_call = page_content.next_call

    async def _events(self, call: Call[Any]) -> AsyncIterator[Event]:
        stream = EventStream(call, self._patience)
        while not stream.ended:
            failure: ProblemError | httpx.RequestError | None = None
            try:
                async with aclosing(await self._http.send(stream.call.request(self._http), stream=True)) as response:
                    if response.status_code == httpx.codes.NO_CONTENT:  # no event will follow
                        return
                    if not response.is_success:
                        await response.aread()
                        raise ProblemError.of(response)
                    async for chunk in response.aiter_bytes():
                        for event in stream.read(chunk):
                            yield event
            except (httpx.RequestError, ProblemError) as error:
                failure = error  # it may be temporary; a new connection resumes after the last event
            if not stream.ended:
                await self._sleep(stream.pause_after(failure))

    async def _run(self, flow: Flow[T]) -> T:
        outcome: Outcome = None
        while not isinstance(step := resume(flow, outcome), Ended):
            if isinstance(step, Pause):
                await self._sleep(step.seconds)
                outcome = None
                continue
            try:
                outcome = await self._http.send(step.request(self._http))
            except httpx.RequestError as error:
                outcome = error
        return step.result
