"""Queue of doorbell rings: no request waits for the broker, order is kept, and failures are counted."""

from __future__ import annotations

import threading
import time

from service.jobs.dispatcher import MAX_QUEUED_RINGS, Dispatcher
from service.metrics import Meter


class RecordingDoorbell:
    """A doorbell that remembers what it was rung for, and can be held."""

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


def test_jobs_are_rung_for_in_order():
    heard = RecordingDoorbell()
    dispatcher = Dispatcher(heard, Meter())
    ids = [f"job_{number}" for number in range(40)]
    for job in ids:
        dispatcher.ring(job)
    until(lambda: len(heard.jobs) == 40)
    assert heard.jobs == ids
    dispatcher.close()


def test_what_waits_when_the_bell_is_closed_is_still_rung_for():
    heard = RecordingDoorbell()
    dispatcher = Dispatcher(heard, Meter())
    for job in ("one", "two", "three"):
        dispatcher.ring(job)
    dispatcher.close()
    assert heard.jobs == ["one", "two", "three"]
    assert not any(thread.name == "doorbell" for thread in threading.enumerate())


def test_a_ring_that_fails_is_counted_for_every_job_and_the_next_one_is_tried():
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


def test_a_broker_that_stalls_makes_nobody_wait_and_what_finds_no_room_is_counted():
    heard, meter = RecordingDoorbell(), Meter()
    dispatcher = Dispatcher(heard, meter)
    heard.free.clear()
    dispatcher.ring("held")
    time.sleep(0.1)  # the thread is with the broker now
    began = time.monotonic()
    for number in range(MAX_QUEUED_RINGS + 9):
        dispatcher.ring(f"job_{number}")
    assert time.monotonic() - began < 5
    assert failures(meter) == 9
    heard.free.set()
    until(lambda: len(heard.jobs) == MAX_QUEUED_RINGS + 1)
    dispatcher.close()


def test_a_bell_that_never_rang_closes():
    Dispatcher(RecordingDoorbell(), Meter()).close()
