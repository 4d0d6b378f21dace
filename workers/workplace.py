"""What a worker has at hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from store.database import Database
from store.jobs import Claim
from store.secrets import Vault
from store.settings import Settings


def _nobody_asks(asked: int, expected: int) -> None:
    """Ignore progress: the row tells it already."""


@dataclass
class Workplace:
    """What a worker has at hand: the database, the vault, the settings, and a hook for progress."""

    database: Database
    vault: Vault
    settings: Settings
    on_progress: Callable[[int, int], None] = _nobody_asks
    leaving: threading.Event = field(default_factory=threading.Event)


def seconds_left(claim: Claim) -> float:
    """Count from the claim to the job's deadline; both are of the database's clock."""
    now = claim.job.heartbeat_at or claim.job.created_at
    return max(0.0, (claim.job.deadline_at - now) / 1000)
