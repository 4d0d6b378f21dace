"""Long waits: ``Prefer: wait=N`` (RFC 7240), and the limits of waits and event streams, which stay open for minutes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

from fastapi import Depends, Header, Request, Response

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


LONGEST_WAIT_S = 30

_WAIT = re.compile(r'^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$', re.IGNORECASE)


def wait_of(prefer: Sequence[str]) -> int | None:
    """Return the seconds of the first ``wait`` preference, at most `LONGEST_WAIT_S`; ``None`` if there is none.

    A preference that cannot be parsed is ignored, as RFC 7240 (section 2) requires.
    """
    for header in prefer:
        for part in header.split(","):
            if match := _WAIT.match(part):
                return min(int(match[1]), LONGEST_WAIT_S)
    return None


async def preferred_wait(
    request: Request,
    response: Response,
    prefer: Annotated[  # noqa: ARG001  declared for the documentation; there may be several such headers
        str | None,
        Header(
            description="`wait=N` answers when the job has ended, or after N seconds (at most 30).",
            examples=["wait=10"],
        ),
    ] = None,
) -> int | None:
    """Read the ``wait`` preference, and confirm it in the header ``Preference-Applied``."""
    seconds = wait_of(request.headers.getlist("prefer"))
    if seconds is not None:
        response.headers["Preference-Applied"] = f"wait={seconds}"
        response.headers["Vary"] = "Prefer"
    return seconds


Wait = Annotated[int | None, Depends(preferred_wait)]
