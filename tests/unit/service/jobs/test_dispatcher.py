"""Queue of job notifications: no request waits for the broker, order is preserved, and failures are counted."""

from __future__ import annotations

import threading
import time

from service.http.metrics import Meter
from service.jobs.dispatcher import MAX_QUEUED_RINGS, Dispatcher


class RecordingDoorbell:
    """A fake doorbell (it notifies a worker of a job) that records job ids, and can block or fail."""

    def __init__(self, fails: bool = False) -> None:
        self.jobs: list[str] = []
        self.free, self.fails = threading.Event(), fails
        self.free.set()

    def __call__(self, job_id: str) -> None:
        self.free.wait(10)
        self.jobs.append(job_id)
        if self.fails:
            raise ConnectionError("no broker")


def until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    assert true()


def failures(meter: Meter) -> float:
    return meter.doorbell_failures._value.get()


def test_workers_are_notified_of_jobs_in_the_order_of_the_requests():
    heard = RecordingDoorbell()
    dispatcher = Dispatcher(heard, Meter())
    ids = [f"job_{number}" for number in range(40)]
    for job in ids:
        dispatcher.ring(job)
    until(lambda: len(heard.jobs) == 40)
    assert heard.jobs == ids
    dispatcher.close()


def test_notifications_to_workers_that_are_still_queued_are_sent_when_the_dispatcher_closes():
    heard = RecordingDoorbell()
    dispatcher = Dispatcher(heard, Meter())
    for job in ("one", "two", "three"):
        dispatcher.ring(job)
    dispatcher.close()
    assert heard.jobs == ["one", "two", "three"]
    assert not any(thread.name == "doorbell" for thread in threading.enumerate())


def test_a_failed_notification_to_workers_is_counted_and_does_not_stop_the_next():
    heard, meter = RecordingDoorbell(fails=True), Meter()
    dispatcher = Dispatcher(heard, meter)
    for job in ("one", "two"):
        dispatcher.ring(job)
    until(lambda: failures(meter) == 2)
    heard.fails = False
    dispatcher.ring("three")
    until(lambda: heard.jobs[-1:] == ["three"])
    assert failures(meter) == 2
    dispatcher.close()


def test_notifying_workers_never_waits_for_a_stalled_broker_and_dropped_notifications_are_counted():
    heard, meter = RecordingDoorbell(), Meter()
    dispatcher = Dispatcher(heard, meter)
    heard.free.clear()
    dispatcher.ring("held")
    time.sleep(0.1)  # the thread is blocked in the broker now
    began = time.monotonic()
    for number in range(MAX_QUEUED_RINGS + 9):
        dispatcher.ring(f"job_{number}")
    assert time.monotonic() - began < 5
    assert failures(meter) == 9
    heard.free.set()
    until(lambda: len(heard.jobs) == MAX_QUEUED_RINGS + 1)
    dispatcher.close()


def test_a_dispatcher_that_notified_no_worker_can_be_closed():
    Dispatcher(RecordingDoorbell(), Meter()).close()
