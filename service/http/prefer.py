"""``Prefer: wait=N`` (RFC 7240): how long the caller would rather wait than ask again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Header, Request, Response

LONGEST_WAIT_S = 30

_WAIT = re.compile(r'^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$', re.IGNORECASE)


def wait_of(prefer: Sequence[str]) -> int | None:
    """Seconds of the first ``wait`` preference, at most `LONGEST_WAIT_S`; None without one.

    A preference that cannot be understood is ignored, as RFC 7240 (section 2) wants it.
    """
    for header in prefer:
        for part in header.split(","):
            if found := _WAIT.match(part):
                return min(int(found[1]), LONGEST_WAIT_S)
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
    """Read the preference and, where it is honoured, say so in ``Preference-Applied``."""
    seconds = wait_of(request.headers.getlist("prefer"))
    if seconds is not None:
        response.headers["Preference-Applied"] = f"wait={seconds}"
        response.headers["Vary"] = "Prefer"
    return seconds


Wait = Annotated[int | None, Depends(preferred_wait)]
