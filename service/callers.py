"""Who asks: a tenant with what it may do."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

SCOPES = {
    "jobs:write": "ask for ratings and cancel jobs",
    "ratings:read": "read jobs, observations, ratings and targets",
    "targets:write": "save, change, remove and probe targets",
    "webhooks:write": "subscribe to notices",
    "admin": "make and revoke keys; includes every other scope",
}
"""What a key can allow."""

DEFAULT_TENANT = "default"
NOBODY = ""
"""The tenant of a caller without a key, who sees what is public and nothing else."""


@dataclass(frozen=True)
class Caller:
    """Whoever sent the request.

    `purse` names what limits are counted by.
    """

    tenant: str
    scopes: frozenset[str]
    key_id: str | None = None

    @property
    def purse(self) -> str:
        """Whose rate limit is used."""
        return self.key_id or self.tenant

    def may(self, scope: str) -> bool:
        """Whether the key allows what `scope` stands for."""
        return scope in self.scopes or "admin" in self.scopes


ANYONE = Caller(DEFAULT_TENANT, frozenset(SCOPES))
NOBODY_KNOWN = Caller(NOBODY, frozenset())


class RecentCallers:
    """Recognises a key again that was checked a moment ago, for reading a status only.

    Parameters
    ----------
    keep_s : float
        For how long; a key revoked elsewhere still reads statuses for this long.
    clock : callable
        Seconds, growing steadily.
    """

    MOST = 4096

    def __init__(self, keep_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._keep_s, self._clock = keep_s, clock
        self._known: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()

    def remember(self, authorization: bytes, caller: Caller) -> None:
        """Keep who sent a header that was found valid; the header itself is not kept."""
        if self._keep_s <= 0:
            return
        name = sha256(authorization).digest()
        self._known[name] = (self._clock() + self._keep_s, caller)
        self._known.move_to_end(name)
        if len(self._known) > self.MOST:
            self._known.popitem(last=False)

    def get(self, authorization: bytes) -> Caller | None:
        """Recognise a header."""
        known = self._known.get(sha256(authorization).digest())
        return known[1] if known is not None and known[0] > self._clock() else None

    def forget(self) -> None:
        """Recognise nobody: a key was revoked."""
        self._known.clear()
