"""What a worker has at hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol
from urllib.parse import urlsplit

from assay.rating.methodology import Methodologies, shipped
from store.core.database import Database
from store.core.settings import Settings
from store.jobs.jobs import Claim
from store.security.secrets import Vault
from workers.calls.shared_rate_limits import Traffic, TrafficHere, TrafficOnRedis
from workers.engine.metrics import WorkMeter
from workers.targets.adapter import Target


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
    """Host (and port) of a target, or the name of its protocol where that knows the way."""
    return urlsplit(target.base_url).netloc.rpartition("@")[2] or target.protocol


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
