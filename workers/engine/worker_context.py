"""What a worker has at hand: database, vault, settings, and its counters for Prometheus."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Histogram

from assay.rating.methodology import Methodologies, shipped
from store.core.database import Database
from store.core.settings import Settings
from store.jobs.jobs import Claim
from store.security.secrets import Vault
from workers.calls.shared_rate_limits import Traffic, TrafficHere, TrafficOnRedis
from workers.targets.adapter import Target

MOST_TARGETS = 200
OTHER = "other"
"""Stands for every target after the first `MOST_TARGETS`: whoever asks for ratings chooses their names."""

CALL_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
DELAY_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 300, 1800, 7200)
WORK_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600)


class WorkMeter:
    """A worker's counters.

    Parameters
    ----------
    registry : CollectorRegistry, optional
        Where they are found. In a worker of several processes it only holds this one's; all are
        collected from the files that `prometheus_client` keeps for it (`workers.engine.metrics_server`).
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._lock, self._targets = threading.Lock(), set[str]()
        self._calls = self._counter("target_calls", "Calls to targets.", "target", "outcome")
        self._call_s = self._histogram("target_call_seconds", "Time of a call.", CALL_SECONDS, "protocol")
        self._claimed = self._counter("jobs_claimed", "Jobs taken by a worker.")
        self._left = self._counter("jobs_left", "Jobs let go by a worker, by how.", "how")
        self._dispatch_s = self._histogram(
            "dispatch_delay_seconds", "From when a job was due to when it was taken.", DELAY_SECONDS
        )
        self._analysis_s = self._histogram(
            "analysis_seconds", "Computing of a job: design, analysis, rating.", WORK_SECONDS
        )
        self._ledger_s = self._histogram("ledger_write_seconds", "Time to record some replies.", WORK_SECONDS)
        self.lease_losses = self._counter("lease_losses", "Jobs that were claimed by another meanwhile.")
        self.heartbeats_missed = self._counter("heartbeats_missed", "Heartbeats the database did not take.")
        self._deliveries = self._counter("webhook_attempts", "Attempts at a delivery, by how it was left.", "left")
        self.traffic_storage_failures = self._counter(
            "traffic_storage_failures", "Times that limits were counted in the process, Redis being out of reach."
        )

    def called(self, target: str, protocol: str, outcome: str, seconds: float) -> None:
        """Count a call; `target` is a host with its port, `outcome` is ``answered`` or a failure's code."""
        self._calls.labels(self._known(target), outcome).inc()
        self._call_s.labels(protocol).observe(seconds)

    def claimed(self, delay_s: float) -> None:
        """Count a job taken `delay_s` seconds after it was due."""
        self._claimed.inc()
        self._dispatch_s.observe(max(0.0, delay_s))

    def left(self, how: str) -> None:
        """Count a job let go: ``succeeded``, ``failed``, ``cancelled``, or ``resting``, say."""
        self._left.labels(how).inc()

    def computed(self, seconds: float) -> None:
        """Count a job's computing time."""
        self._analysis_s.observe(seconds)

    def recorded(self, seconds: float) -> None:
        """Count a write to the ledger."""
        self._ledger_s.observe(seconds)

    def delivered(self, left: str) -> None:
        """Count an attempt at a delivery: ``delivered``, ``waiting``, ``given-up``, ``disabled`` or ``overtaken``."""
        self._deliveries.labels(left).inc()

    def _known(self, target: str) -> str:
        with self._lock:
            if target not in self._targets and len(self._targets) >= MOST_TARGETS:
                return OTHER
            self._targets.add(target)
        return target

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"assay_{name}_total", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"assay_{name}", text, labels, buckets=buckets, registry=self.registry)


def _nobody_asks(asked: int, expected: int) -> None:
    """Ignore progress: the row tells it already."""


class Leaving(Protocol):
    """Says whether this worker shuts down."""

    def set(self) -> None:
        """Say that it does."""
        ...

    def is_set(self) -> bool:
        """Whether it does."""
        ...


@dataclass
class Workplace:
    """What a worker has at hand: the database, the vault, the settings, counters, and a hook for progress."""

    database: Database
    vault: Vault
    settings: Settings
    on_progress: Callable[[int, int], None] = _nobody_asks
    leaving: Leaving = field(default_factory=threading.Event)
    meter: WorkMeter = field(default_factory=WorkMeter)
    traffic_here: TrafficHere = field(default_factory=TrafficHere)
    methodologies: Methodologies = field(default_factory=shipped)

    def traffic(self) -> Traffic:
        """Open the counts that all jobs share, for one event loop."""
        if self.settings.redis_url is None:
            return self.traffic_here
        return TrafficOnRedis(self.settings.redis_url, self.traffic_here, self.meter.traffic_storage_failures.inc)


def seconds_left(claim: Claim) -> float:
    """Count from the claim to the job's deadline; both are of the database's clock."""
    now = claim.job.heartbeat_at or claim.job.created_at
    return max(0.0, (claim.job.deadline_at - now) / 1000)


def waited_s(claim: Claim) -> float:
    """Seconds between the moment the job could be claimed and the claim."""
    job = claim.job
    return ((job.heartbeat_at or job.next_run_at) - job.next_run_at) / 1000


def place_of(target: Target) -> str:
    """Return the host (and port) of a target; the name of its protocol if it has no address, or a malformed one."""
    try:
        return urlsplit(target.base_url).netloc.rpartition("@")[2] or target.protocol
    except ValueError:  # the guard refuses the address when it is called
        return target.protocol


_IMPORTING = threading.Lock()


def import_first() -> None:
    """Import what jobs need, in one thread while the others wait; the second call costs nothing.

    Some libraries import each other in a circle. A second thread can then see them half imported, because
    Python gives up a module's lock rather than wait for ever: jobs that began together failed by that.
    """
    with _IMPORTING:
        _import()


@cache
def _import() -> None:
    """Import the libraries and read the occupations (1.6 s of a processor), so that forked children share both."""
    import scipy.optimize
    import scipy.special  # noqa: F401

    from assay.catalog.labour import occupations

    for occupation in occupations():
        _ = occupation.indefinite
