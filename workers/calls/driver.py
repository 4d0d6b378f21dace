"""Driver of a session: sends an experiment's probes to the target in batches, with retries and a call budget.

`Stopped`, `TargetUnavailable`, a `CallFailed` with a code of `FINAL` and errors of the ledger end a session early.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.experiment import BUDGET, Session
from assay.model import AUTHORED, Ask, Failure, Finding, Observation, Probe, Reply
from store.jobs import jobs, observations
from store.jobs.jobs import Claim, LedgerEntry
from workers.calls.limits import KEEP_SLOT_S, Breaker, Budget, Lane, Patience, Slot
from workers.calls.question_order import LEAST_APART, QuestionOrder
from workers.egress import CallFailed
from workers.engine.worker_context import WorkerContext
from workers.targets.adapter import Adapter, Limits, opaque_key, questions_per_call


@dataclass
class JobLedger:
    """Ledger of a job's answers in the database; only the worker that claimed the job last may write to it."""

    context: WorkerContext
    claim: Claim

    def stage(self, stage: str) -> None:
        """Store the current step of the job, such as ``asking``, which users see."""
        with self.context.database.write() as connection:
            jobs.stage(connection, self.claim, stage)

    def recall(self, units: Sequence[str]) -> dict[str, Observation]:
        """Read the observations that an earlier attempt stored, by id; `units` are the probes' ids (`Probe.unit`)."""
        with self.context.database.read() as connection:
            return observations.recall(connection, self.claim.job.id, units)

    def record(self, answers: Sequence[LedgerEntry], *, calls: int, expected: int) -> None:
        """Store answers, add `calls` to the job's calls, set its number of `expected` probes, and report the progress.

        Raise `LeaseLost` if another worker has claimed the job. May block; it is called from one thread at a time.
        """
        start = time.perf_counter()
        with self.context.database.write() as connection:
            job = jobs.record(connection, self.claim, answers, calls=calls, expected=expected, stage="asking")
        self.context.meter.ledger_writes_s.observe(time.perf_counter() - start)
        self.context.on_progress(job.asked, job.expected)


WRITE_INTERVAL_S = 0.02
"""Minimum time in seconds between two writes to the ledger."""

MOST_UNWRITTEN = 5
"""Maximum backlog for the ledger, as a multiple of `flush_replies`; after a crash, the backlog is asked again."""

FINAL = frozenset({"auth", "quota", "refused-address", "tls"})
"""Failure codes after which every other question (probe) of the job would fail as well."""


class TargetUnavailable(Exception):
    """Too many calls to a service failed; `lane` has the limits of that service (``None``: of the rated service)."""

    def __init__(self, failure: CallFailed, lane: Lane | None = None) -> None:
        super().__init__(str(failure))
        self.failure, self.lane = failure, lane


@dataclass(frozen=True)
class CalledService:
    """Service with limits and circuit breaker; `on_call` gets each call's end (``answered`` or a code) and seconds."""

    lane: Lane
    breaker: Breaker = field(default_factory=Breaker)
    on_call: Callable[[str, float], None] = lambda *_: None


@dataclass
class Driver:
    """Sends the unanswered questions (probes) of a session to its services until the session has a finding."""

    adapter: Adapter
    limits: Limits
    budget: Budget
    ledger: JobLedger
    """Stores the answers, every `flush_replies` answers or `flush_s` seconds."""
    secret: str
    """Text known to the agency only, from which idempotency keys that reveal nothing about the job are derived."""
    rng: np.random.Generator
    """For the order of questions and the jitter of retries, unknown to the service; it does not affect the rating."""
    patience: Patience = field(default_factory=Patience)
    expected: int = 0
    flush_replies: int = 20
    flush_s: float = 1.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rated: CalledService | None = None
    """The rated service; if omitted, the target is not shared with other jobs."""
    second: CalledService | None = None
    """Service that answers the questions of the types `second_ask_types`; if omitted, the rated service does."""
    second_ask_types: tuple[type[Ask], ...] = AUTHORED
    thinking_s: float = 0.0
    """Computing time of the experiment so far, in seconds."""

    def __post_init__(self) -> None:
        # a lane holds the limits of a service, which jobs may share
        unshared_limits = Lane(name="alone", holder="alone", limits=self.limits, rng=self.rng, sleep=self.sleep)
        self._rated_service = self.rated or CalledService(unshared_limits)
        self._second_service = self.second or self._rated_service  # the author or judge of texts
        self._unwritten_answers: list[LedgerEntry] = []
        self._flush_due, self._backlog_written = asyncio.Event(), asyncio.Event()
        self._reported_calls = self.budget.spent  # number of calls that the ledger knows of
        self._writer: asyncio.Task[None] | None = None
        # versions of an item stay `LEAST_APART` calls apart even if concurrent calls arrive in another order
        self._question_order = QuestionOrder(self.rng, LEAST_APART + self.limits.concurrency)
        self._items_in_flight: set[str] = set()  # items of which a version is in a call that has no answer yet
        self._flight_ended = asyncio.Condition()

    async def run(self, session: Session) -> Finding:
        """Run a session (an experiment and its answers) to its finding; at its end, the ledger has all answers.

        Raise `TargetUnavailable`, or `CallFailed` with a code of `FINAL`, if further calls would fail, and any error of
        the ledger.
        """
        self._writer = asyncio.create_task(self._write_regularly())
        try:
            while session.finding is None:
                # answers copied from identical questions: nothing was sent for them
                self._enqueue([LedgerEntry(copy, attempts=0, elapsed_ms=0) for copy in session.unrecorded])
                await self._send_missing(session)
                start = time.perf_counter()
                session.advance()
                self.thinking_s += time.perf_counter() - start  # computing time of the experiment
        finally:
            self._writer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._writer
            await self._write_queued()
        return session.finding

    async def _send_missing(self, session: Session) -> None:
        """Send all missing (unanswered) probes of the session, with at most `concurrency` calls at a time.

        The order is random: otherwise, if two replicas answer in turn, each could get the questions about one group of
        people. Versions of one item are sent far apart, so that a service cannot recognise a test by them.
        """
        if not session.missing:
            return
        most_per_call = questions_per_call(self.adapter, self.limits)
        probes, probes_per_call = self._question_order.arrange(session.missing, most_per_call)
        self.expected = max(self.expected, session.asked + len(probes))
        probe_groups = self._group_by_call(probes, probes_per_call)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(self.limits.concurrency, len(probes))):
                    tasks.create_task(self._send_calls(probe_groups, session))  # each takes the next group when idle
        except BaseExceptionGroup as error_group:
            # the callers handle single errors, so only the first error of the group is raised
            raise first_error(error_group) from None

    def _group_by_call(self, probes: Sequence[Probe], limit: int) -> Iterator[list[Probe]]:
        """Yield groups of probes that may share a call: full groups (`limit` probes) at once, all others at the end."""
        probe_groups: dict[object, list[Probe]] = {}
        for probe in probes:
            probe_group = probe_groups.setdefault(self.adapter.group_key(probe.ask), [])
            probe_group.append(probe)
            if len(probe_group) == limit:
                yield probe_groups.pop(self.adapter.group_key(probe.ask))
        yield from probe_groups.values()

    async def _send_calls(self, probe_groups: Iterator[list[Probe]], session: Session) -> None:
        """Send groups of probes, each in a call, until no group is left; pass replies to the session and the ledger."""
        async with self._rated_service.lane.slot() as rated_slot, self._second_service.lane.slot() as second_slot:
            for probes in probe_groups:
                start = time.monotonic()
                if isinstance(probes[0].ask, self.second_ask_types):  # a call is for one service
                    service, slot, other_slot = self._second_service, second_slot, rated_slot
                else:
                    service, slot, other_slot = self._rated_service, rated_slot, second_slot
                # a slot permits one call at a time, and `_call` takes it; with one address, holding both could deadlock
                await other_slot.release()
                async with self._without_other_versions_in_flight(probes, slot):
                    replies, attempts = await self._call(probes, service, slot)
                elapsed_ms = round(1000 * (time.monotonic() - start))
                entries = []
                for probe, reply in zip(probes, replies, strict=True):
                    observation, *copies = session.accept(probe, reply)  # copies: for identical questions
                    entries.append(LedgerEntry(observation, attempts, elapsed_ms))
                    entries += [LedgerEntry(copy, attempts=0, elapsed_ms=0) for copy in copies]
                self._enqueue(entries)
                await self._wait_for_backlog()

    @contextlib.asynccontextmanager
    async def _without_other_versions_in_flight(self, probes: Sequence[Probe], slot: Slot) -> AsyncIterator[None]:
        """Run the block once no call in flight has another version of the probes' items; free `slot` during a wait.

        Versions of an item are questions that differ in the attribute, such as a sentence with *he* and with *she*.
        """
        item_names = {item_name for probe in probes for item_name in probe.versions_of}
        if not item_names:
            yield
            return
        if not self._items_in_flight.isdisjoint(item_names):
            await slot.release()  # other jobs may use it during the wait; `_call` takes it again
        async with self._flight_ended:
            await self._flight_ended.wait_for(lambda: self._items_in_flight.isdisjoint(item_names))
            self._items_in_flight |= item_names  # a service could compare two versions of an item
        try:
            yield
        finally:
            self._items_in_flight -= item_names
            async with self._flight_ended:
                self._flight_ended.notify_all()

    async def _call(self, probes: Sequence[Probe], service: CalledService, slot: Slot) -> tuple[Sequence[Reply], int]:
        """Make one call in `slot`, with its retries; return a reply or failure per probe and the number of attempts."""
        key = opaque_key(self.secret, *(probe.unit for probe in probes))
        for attempt in range(1, self.patience.attempts + 1):  # `patience`: how often to retry, and after what time
            await slot.keep()
            await service.lane.wait_for_rate()
            if not self.budget.take():
                failure = Failure(BUDGET, f"the job's max_calls ({self.budget.max_calls}) were used up")
                return [Reply(failure=failure)] * len(probes), attempt - 1
            start = time.perf_counter()
            try:
                replies = await self.adapter.answer([probe.ask for probe in probes], idempotency_key=key)
            except CallFailed as failed:
                service.on_call(failed.code, time.perf_counter() - start)  # for the metrics
                if failed.code in FINAL:  # all other calls of the job would fail too
                    raise
                if failed.retriable and attempt < self.patience.attempts:
                    await self._wait_to_retry(self.patience.delay_s(failed, attempt, self.rng), slot)
                    continue
                if service.breaker.count_failure():  # too many calls failed
                    raise TargetUnavailable(failed, service.lane) from failed
                return [Reply(failure=Failure(failed.code, str(failed)))] * len(probes), attempt
            service.on_call("answered", time.perf_counter() - start)
            service.breaker.count_answer()
            return replies, attempt
        raise AssertionError("the last try returns or raises")  # pragma: no cover

    async def _wait_to_retry(self, seconds: float, slot: Slot) -> None:
        if seconds > KEEP_SLOT_S:
            await slot.release()
        await self.sleep(seconds)

    def _enqueue(self, answers: Sequence[LedgerEntry]) -> None:
        """Queue answers for the ledger; if a write to the ledger has failed, raise its error."""
        if self._writer is not None and self._writer.done():
            self._writer.result()  # raises the error of the write
        self._unwritten_answers += answers
        if len(self._unwritten_answers) >= self.flush_replies:
            self._flush_due.set()

    async def _wait_for_backlog(self) -> None:
        """Wait while too many answers are not yet in the ledger, so that a crash loses few of them."""
        while len(self._unwritten_answers) >= MOST_UNWRITTEN * self.flush_replies:
            self._backlog_written.clear()
            await self._backlog_written.wait()
            self._enqueue(())  # raises the error if the write failed

    async def _write_regularly(self) -> None:
        """Write the queued answers after every `flush_replies` of them or `flush_s` seconds, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.flush_s):
                    await self._flush_due.wait()
            await self._write_queued()
            await asyncio.sleep(WRITE_INTERVAL_S)  # the minimum time between two writes

    async def _write_queued(self) -> None:
        """Write the queued answers; a write that has begun is completed even after a cancellation."""
        self._flush_due.clear()
        answers, self._unwritten_answers = self._unwritten_answers, []
        if not answers:
            return
        new_calls, self._reported_calls = self.budget.spent - self._reported_calls, self.budget.spent
        writing = asyncio.to_thread(self.ledger.record, answers, calls=new_calls, expected=self.expected)
        record_task = asyncio.ensure_future(writing)
        try:
            await asyncio.shield(record_task)
        except asyncio.CancelledError:
            await record_task
            raise
        finally:
            self._backlog_written.set()


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in a group or its nested groups."""
    first_exception = group.exceptions[0]
    return first_error(first_exception) if isinstance(first_exception, BaseExceptionGroup) else first_exception
