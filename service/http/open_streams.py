"""Limits of event streams and long waits, which stay open for minutes: per tenant and per key, in this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from service.http.problems import Problem

RETRY_AFTER_S = 5


class OpenStreams:
    """Counts the open event streams and waits; a tenant may have `limit`, and each of its keys half of them."""

    def __init__(self, limit: int) -> None:
        self._most = limit
        self._open: Counter[tuple[str, str | None]] = Counter()

    @contextmanager
    def held(self, tenant: str, key_id: str | None) -> Iterator[None]:
        """Count a stream while the block runs; raise ``too-many-streams`` above a limit."""
        counted: dict[tuple[str, str | None], int] = {(tenant, None): self._most}
        if key_id is not None:
            counted[tenant, key_id] = max(1, self._most // 2)
        for holder, limit in counted.items():
            if self._open[holder] >= limit:
                whose = "your tenant has" if holder[1] is None else "this key has"
                detail = f"{whose} {limit} event streams and long waits open, the maximum"
                raise Problem("too-many-streams", detail, headers={"Retry-After": str(RETRY_AFTER_S)})
        self._open.update(counted.keys())
        try:
            yield
        finally:
            self._open.subtract(counted.keys())
            self._open += Counter()  # removes the entries without open streams
