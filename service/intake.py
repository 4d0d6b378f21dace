"""New work goes to the database together with what arrives while the last is written (group commit)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass

from store.arrivals import Arrival, add_new
from store.database import AsyncDatabase
from store.errors import StoreUnavailable
from store.job import Job

MOST_TOGETHER = 50
"""Jobs of one statement: beyond, a job costs as much as before, and all wait for the last."""

WRITERS = 1
"""Statements on their way at a time. With two, each would carry half as many jobs (measured: a tenth slower)."""

Added = tuple[Job, int] | None


class Intake:
    """Adds new jobs; a job alone is added at once, a crowd in few statements.

    Parameters
    ----------
    database : AsyncDatabase
        Where jobs are written.
    most : int
        Unfinished jobs that a tenant may have.
    ring : callable
        Told of each job that was added, also when whoever asked for it has gone away meanwhile.
    """

    def __init__(self, database: AsyncDatabase, most: int, ring: Callable[[str], None]) -> None:
        self._database, self._most, self._ring = database, most, ring
        self._waiting: deque[_Asked] = deque()
        self._under_way: set[tuple[str, str]] = set()
        self._writing, self._tasks = 0, set[asyncio.Task[None]]()

    async def add(self, arrival: Arrival) -> Added:
        """Add a job unless what it asks is known already.

        Returns
        -------
        (Job, int) or None
            The job and its place in the queue; ``None`` where `store.arrivals.add_new` adds none.

        Raises
        ------
        StoreUnavailable
            If the database cannot serve now.
        """
        asked = _Asked(arrival, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if self._writing < WRITERS:
            self._writing += 1
            writer = asyncio.create_task(self._write_all(), context=Context())  # it writes for all: nobody's context
            self._tasks.add(writer)  # the loop alone would not keep it alive
            writer.add_done_callback(self._tasks.discard)
        return await asked.answer

    async def _write_all(self) -> None:
        try:
            while batch := self._next():
                try:
                    await self._write(batch)
                finally:
                    self._under_way.difference_update(one.arrival.asks for one in batch)
        finally:
            self._writing -= (
                1  # here, not when the task is seen to have ended: what arrives between would wait for ever
            )

    def _next(self) -> list[_Asked]:
        """Take what has waited longest; of those who ask the same one goes, and the others find it written."""
        batch: list[_Asked] = []
        staying: list[_Asked] = []
        while self._waiting and len(batch) < MOST_TOGETHER:
            one = self._waiting.popleft()
            if one.answer.done():  # whoever asked has gone away
                continue
            if one.arrival.asks in self._under_way:
                staying.append(one)
            else:
                self._under_way.add(one.arrival.asks)
                batch.append(one)
        self._waiting.extendleft(reversed(staying))
        return batch

    async def _write(self, batch: Sequence[_Asked]) -> None:
        try:
            added = await self._database.at_once(add_new, [one.arrival for one in batch], self._most)
        except StoreUnavailable as unavailable:
            for one in batch:
                one.fail(unavailable)
            return
        except Exception as error:  # noqa: BLE001  it is raised again, where it belongs
            if len(batch) == 1:
                batch[0].fail(error)
                return
            for one in batch:  # what one of them cannot have written must not keep the others out
                await self._write([one])
            return
        for one, job in zip(batch, added, strict=True):
            if job is not None:
                self._ring(job[0].id)
            if not one.answer.done():
                one.answer.set_result(job)


@dataclass(frozen=True, eq=False)
class _Asked:
    arrival: Arrival
    answer: asyncio.Future[Added]

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
