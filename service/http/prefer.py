"""``Prefer: wait=N`` (RFC 7240): seconds that the caller is ready to wait for the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Header, Request, Response

LONGEST_WAIT_S = 30

_WAIT = re.compile(r'^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$', re.IGNORECASE)


def wait_of(prefer: Sequence[str]) -> int | None:
    """Return the seconds of the first ``wait`` preference, at most `LONGEST_WAIT_S`; ``None`` without one.

    A malformed preference is ignored (RFC 7240, section 2).
    """
    for header in prefer:
        for part in header.split(","):
            if found := _WAIT.match(part):
                return min(int(found[1]), LONGEST_WAIT_S)
    return None


async def preferred_wait(
    request: Request,
    response: Response,
    prefer: Annotated[  # noqa: ARG001  only for the documentation; a request can have several such headers
        str | None,
        Header(
            description="`wait=N`: answer when the job has ended, or after N seconds (at most 30).",
            examples=["wait=10"],
        ),
    ] = None,
) -> int | None:
    """Parse the preference and, if there is one, set ``Preference-Applied``."""
    seconds = wait_of(request.headers.getlist("prefer"))
    if seconds is not None:
        response.headers["Preference-Applied"] = f"wait={seconds}"
        response.headers["Vary"] = "Prefer"
    return seconds


Wait = Annotated[int | None, Depends(preferred_wait)]
