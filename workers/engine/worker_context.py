"""Resources of a worker: database, vault, settings, background threads, and metrics for Prometheus."""

import mmap
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Self
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Histogram

from assay.rating.methodology import Methodologies, shipped
from store.core.database import Database
from store.core.settings import Settings
from store.jobs.jobs import Claim
from store.security.secrets import Vault
from workers.calls.limits import LocalTraffic, Traffic, TrafficOnRedis
from workers.egress import Exchange

MOST_TARGETS, OTHER_HOSTS = 200, "other"
"""Maximum number of hosts with a metric label of their own; label of all others, as users may name any number."""

CALL_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
DELAY_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 300, 1800, 7200)
WORK_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600)
"""Upper limits of the buckets of histograms, in seconds: calls, delays of jobs, computations and ledger writes."""


class BackgroundThread(ABC):
    """Thread that runs in a ``with`` block or from `start` to `close`, which waits up to `join_s` seconds for it."""

    name: ClassVar[str]
    join_s: float

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self.run, name=self.name, daemon=True)

    def start(self) -> None:
        """Start the thread, which executes `run`."""
        self._thread.start()

    def close(self) -> None:
        """Ask the thread to stop, and wait at most `join_s` seconds for its end."""
        self._done.set()
        self._thread.join(timeout=self.join_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def run(self) -> None:
        """Do the work of the thread until `close` sets `_done`."""


class WorkMeter:
    """Metrics of a worker process; `workers.engine.metrics_server` collects those of several processes."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._lock, self._targets = threading.Lock(), set[str]()
        self._calls = self._counter("target_calls", "Calls to targets.", "target", "outcome")
        self._call_s = self._histogram("target_call_seconds", "Time of a call.", CALL_SECONDS, "protocol")
        self.claims = self._counter("jobs_claimed", "Jobs taken by a worker.")
        self.ends = self._counter("jobs_left", "Jobs let go by a worker, by how.", "how")  # succeeded, resting …
        self.dispatch_s = self._histogram(
            "dispatch_delay_seconds", "From when a job was due to when it was taken.", DELAY_SECONDS
        )
        self.computing_s = self._histogram(
            "analysis_seconds", "Computing of a job: design, analysis, rating.", WORK_SECONDS
        )
        self.ledger_writes_s = self._histogram("ledger_write_seconds", "Time to record some replies.", WORK_SECONDS)
        self.lease_losses = self._counter("lease_losses", "Jobs that were claimed by another meanwhile.")
        self.heartbeats_missed = self._counter("heartbeats_missed", "Heartbeats the database did not take.")
        self.deliveries = self._counter("webhook_attempts", "Attempts at a delivery, by how it was left.", "left")
        self.traffic_storage_failures = self._counter(
            "traffic_storage_failures", "Times that limits were counted in the process, Redis being out of reach."
        )

    def count_call(self, target: str, protocol: str, outcome: str, seconds: float) -> None:
        """Count a call; `target` is a host with its port, `outcome` is ``answered`` or a failure's code."""
        self._calls.labels(self._target_label(target), outcome).inc()
        self._call_s.labels(protocol).observe(seconds)

    def _target_label(self, target: str) -> str:
        """Return the metric label of a target; `OTHER_HOSTS` if too many have labels of their own."""
        with self._lock:
            if target not in self._targets and len(self._targets) >= MOST_TARGETS:
                return OTHER_HOSTS
            self._targets.add(target)
        return target

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"assay_{name}_total", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"assay_{name}", text, labels, buckets=buckets, registry=self.registry)


class LeavingFlag:
    """Flag that the worker shuts down, set by a parent process and read by children forked after its creation.

    It is in shared memory: unlike a lock or pipe, a killed child cannot corrupt it.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)  # anonymous memory of one byte, 0 at first

    def set(self) -> None:
        """Set the flag: the worker is shutting down."""
        self._shared[0] = 1

    def is_set(self) -> bool:
        """Whether the worker is shutting down."""
        return self._shared[0] == 1


@dataclass
class WorkerContext:
    """Resources of a worker: database, vault, settings, metrics, and callbacks for progress and for each exchange."""

    database: Database
    vault: Vault
    settings: Settings
    on_progress: Callable[[int, int], None] = lambda *_: None
    on_exchange: Callable[[Exchange], None] | None = None
    leaving: LeavingFlag | threading.Event = field(default_factory=threading.Event)
    meter: WorkMeter = field(default_factory=WorkMeter)
    local_traffic: LocalTraffic = field(default_factory=LocalTraffic)
    methodologies: Methodologies = field(default_factory=shipped)

    def traffic(self) -> Traffic:
        """Return the rate limits and slots that all jobs share, for use in one event loop."""
        if self.settings.redis_url is None:
            return self.local_traffic
        return TrafficOnRedis(self.settings.redis_url, self.local_traffic, self.meter.traffic_storage_failures.inc)


def seconds_left(claim: Claim) -> float:
    """Return the seconds from the claim to the job's deadline, by the clock of the database."""
    return max(0.0, (claim.job.deadline_at - (claim.job.heartbeat_at or claim.job.created_at)) / 1000)


def waited_s(claim: Claim) -> float:
    """Return the seconds from the time at which the job was due until its claim."""
    job = claim.job
    return max(0.0, ((job.heartbeat_at or job.next_run_at) - job.next_run_at) / 1000)


def host_label(base_url: str | None, protocol: str) -> str:
    """Return the host (and port) of a target; without a valid address, the name of its protocol."""
    try:
        return urlsplit(base_url or "").netloc.rpartition("@")[2] or protocol  # without a user name
    except ValueError:  # the address is malformed; the guard refuses it when it is called
        return protocol


_IMPORT_LOCK = threading.Lock()


def import_job_libraries() -> None:
    """Import the libraries and read the occupations (1.6 s of CPU time), in one thread while the others wait.

    Some libraries have circular imports, for which Python releases the lock of a module early: without this lock, jobs
    that start together may see half-imported modules, and fail. Forked children share what was imported before.
    """
    with _IMPORT_LOCK:
        import scipy.optimize
        import scipy.special  # noqa: F401

        from assay.catalog.labour import occupations

        for occupation in occupations():
            _ = occupation.indefinite  # computed once, and cached
