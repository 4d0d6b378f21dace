"""Puts a session's probes to a target: batches, concurrency, retries, budget — and keeps the order.

The experiment decides what to ask and the ledger keeps what was answered; this module only gets
the answers. It stops for four reasons, each an exception `workers.run_job` turns into an end of
the job: `Stopped`, `TargetUnavailable`, `TargetRefused` and whatever the ledger raises.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.experiment import BUDGET, Session
from assay.model import AUTHORED, Failure, Finding, Probe, Reply
from workers.calls.ledger import Answered, Ledger
from workers.calls.limits import SHARE_S, Breaker, Budget, Lane, Patience, Place
from workers.egress import CallFailed
from workers.targets.adapter import Adapter, Limits

BREATH_S = 0.02
"""Least time between two writes to the ledger: a fast target fills it faster than a commit pays."""

IN_FLIGHT = 24
"""Questions that may be on their way at a time in calls of several: a crash repeats no more of them."""

MOST_UNWRITTEN = 5
"""Times `flush_replies` that may wait for a ledger that stalls: a crash repeats what is not written."""

FINAL = frozenset({"auth", "quota", "refused-address", "tls"})
"""Failures that no other probe of the job would escape."""


class TargetUnavailable(Exception):
    """The target failed so often that asking on would be pointless for now.

    Parameters
    ----------
    failure : CallFailed
        The last one.
    lane : Lane, optional
        The way to the service that failed, where it is known: the rated one's or its author's.
    """

    def __init__(self, failure: CallFailed, lane: Lane | None = None) -> None:
        super().__init__(str(failure))
        self.failure, self.lane = failure, lane


class TargetRefused(Exception):
    """The target (or our own guard) refused for a reason that will not go away."""

    def __init__(self, failure: CallFailed) -> None:
        super().__init__(str(failure))
        self.failure = failure


def _nobody_counts(outcome: str, seconds: float) -> None:
    """Count no calls."""


@dataclass(frozen=True)
class Called:
    """A service that a driver calls.

    Parameters
    ----------
    lane : Lane
        The way to it, shared with other jobs.
    breaker : Breaker
        Counts what this service alone has lost.
    on_call : callable
        Told the outcome (``answered`` or a failure's code) and the seconds of every call.
    """

    lane: Lane
    breaker: Breaker = field(default_factory=Breaker)
    on_call: Callable[[str, float], None] = _nobody_counts


@dataclass
class Driver:
    """Asks what a session misses until it has a finding.

    Parameters
    ----------
    adapter : Adapter
        The target.
    limits : Limits
        Calls at a time and a second.
    budget : Budget
        Calls the job may still make.
    ledger : Ledger
        Keeps the answers; written every `flush_replies` answers or `flush_s` seconds.
    job : str
        Names the job in idempotency keys.
    rng : Generator
        For the jitter of retries; it has no influence on the rating.
    lane : Lane, optional
        The way to the target, shared with other jobs; without it this job is alone there.
    on_call : callable
        Told the outcome (``answered`` or a failure's code) and the seconds of every call.
    author : Called, optional
        Who is called for what is written or drawn; without one the target is.

    Attributes
    ----------
    thinking_s : float
        Time the experiment has computed so far.
    """

    adapter: Adapter
    limits: Limits
    budget: Budget
    ledger: Ledger
    job: str
    rng: np.random.Generator
    patience: Patience = field(default_factory=Patience)
    expected: int = 0
    flush_replies: int = 20
    flush_s: float = 1.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    breaker: Breaker = field(default_factory=Breaker)
    lane: Lane | None = None
    on_call: Callable[[str, float], None] = _nobody_counts
    author: Called | None = None
    thinking_s: float = 0.0

    def __post_init__(self) -> None:
        lane = self.lane or Lane("alone", self.job, self.limits, self.rng, sleep=self.sleep)
        self._rated = Called(lane, self.breaker, self.on_call)
        self._author = self.author or self._rated
        self._unwritten: list[Answered] = []
        self._filled, self._written = asyncio.Event(), asyncio.Event()
        self._reported = self.budget.spent
        self._writer: asyncio.Task[None] | None = None

    async def run(self, session: Session) -> Finding:
        """Drive a session to its finding; whatever was answered is in the ledger when this ends.

        Raises
        ------
        TargetUnavailable, TargetRefused
            If asking on is pointless.
        Exception
            Whatever the ledger raised.
        """
        self._writer = asyncio.create_task(self._write_regularly())
        try:
            while session.finding is None:
                self._put([Answered(copy, 0, 0) for copy in session.unrecorded])
                await self._ask(session)
                start = time.perf_counter()
                session.advance()
                self.thinking_s += time.perf_counter() - start
        finally:
            self._writer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._writer
            await self._write()
        return session.finding

    async def _ask(self, session: Session) -> None:
        """Get an answer for everything the session misses, `concurrency` calls at a time."""
        missing = session.missing
        if not missing:
            return
        self.expected = max(self.expected, session.asked + len(missing))
        calls = self._calls(missing)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.limits.concurrency, len(missing))):
                    group.create_task(self._work(calls, session))
        except BaseExceptionGroup as several:  # the callers know single errors
            raise first_error(several) from None

    def _calls(self, probes: Sequence[Probe]) -> Iterator[list[Probe]]:
        """Group probes that may share a call, in order."""
        limit = min(self.adapter.batch_limit, max(1, IN_FLIGHT // self.limits.concurrency))
        if limit <= 1:
            yield from ([probe] for probe in probes)
            return
        groups: dict[object, list[Probe]] = {}
        for probe in probes:
            group = groups.setdefault(self.adapter.group_key(probe.ask), [])
            group.append(probe)
            if len(group) == limit:
                yield groups.pop(self.adapter.group_key(probe.ask))
        yield from groups.values()

    async def _work(self, calls: Iterator[list[Probe]], session: Session) -> None:
        async with self._rated.lane.place() as rated, self._author.lane.place() as author:
            for probes in calls:
                start = time.monotonic()
                if isinstance(probes[0].ask, AUTHORED):
                    called, place, other = self._author, author, rated
                else:
                    called, place, other = self._rated, rated, author
                await other.give_up()  # whoever waits for a place holds none: the two may be of one address
                replies, attempts = await self._call(probes, called, place)
                elapsed_ms = round(1000 * (time.monotonic() - start))
                answers = []
                for probe, reply in zip(probes, replies, strict=True):
                    made = session.accept(probe, reply)
                    answers.append(Answered(made[0], attempts, elapsed_ms))
                    answers += [Answered(copy, 0, 0) for copy in made[1:]]
                self._put(answers)
                await self._room()

    async def _call(self, probes: Sequence[Probe], called: Called, place: Place) -> tuple[Sequence[Reply], int]:
        """Make one call with its retries; a call lost for good answers with its failure."""
        key = f"{self.job}:{probes[0].unit}"
        for attempt in range(1, self.patience.attempts + 1):
            await place.keep()
            await called.lane.wait_for_turn()
            if not self.budget.take():
                failure = Failure(BUDGET, f"the job's max_calls ({self.budget.max_calls}) were used up")
                return [Reply(failure=failure)] * len(probes), attempt - 1
            start = time.perf_counter()
            try:
                replies = await self.adapter.answer([probe.ask for probe in probes], idempotency_key=key)
            except CallFailed as failed:
                called.on_call(failed.code, time.perf_counter() - start)
                if failed.code in FINAL:
                    raise TargetRefused(failed) from failed
                if failed.retriable and attempt < self.patience.attempts:
                    await self._pause(self.patience.delay_s(failed, attempt, self.rng), place)
                    continue
                if called.breaker.lost():
                    raise TargetUnavailable(failed, called.lane) from failed
                return [Reply(failure=Failure(failed.code, str(failed)))] * len(probes), attempt
            called.on_call("answered", time.perf_counter() - start)
            called.breaker.answered()
            return replies, attempt
        raise AssertionError("the last try returns or raises")  # pragma: no cover

    async def _pause(self, seconds: float, place: Place) -> None:
        if seconds > SHARE_S:
            await place.give_up()
        await self.sleep(seconds)

    def _put(self, answers: Sequence[Answered]) -> None:
        """Queue answers for the ledger; fail here if it has failed."""
        if self._writer is not None and self._writer.done():
            self._writer.result()
        self._unwritten += answers
        if len(self._unwritten) >= self.flush_replies:
            self._filled.set()

    async def _room(self) -> None:
        """Wait while the ledger is far behind."""
        while len(self._unwritten) >= MOST_UNWRITTEN * self.flush_replies:
            self._written.clear()
            await self._written.wait()
            self._put(())

    async def _write_regularly(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.flush_s):
                    await self._filled.wait()
            await self._write()
            await asyncio.sleep(BREATH_S)

    async def _write(self) -> None:
        """Write what is queued; a write that has begun is finished even when we are cancelled."""
        self._filled.clear()
        answers, self._unwritten = self._unwritten, []
        if not answers:
            return
        writing = asyncio.ensure_future(
            asyncio.to_thread(self.ledger.record, answers, calls=self._unreported(), expected=self.expected)
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing
            raise
        finally:
            self._written.set()

    def _unreported(self) -> int:
        """Count the calls made since the ledger was last told."""
        calls, self._reported = self.budget.spent - self._reported, self.budget.spent
        return calls


def first_error(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """Find the first single exception in a group, which may hold groups."""
    one = several.exceptions[0]
    return first_error(one) if isinstance(one, BaseExceptionGroup) else one
