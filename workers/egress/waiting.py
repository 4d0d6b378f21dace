"""Parsing of ``Retry-After`` and related headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRY_AFTER_CAP_S = 300.0
"""Maximum wait in seconds, even if the service requests more."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Parse ``retry-after-ms`` or ``Retry-After``; names in `headers` must be in lower case or ignore case.

    A date is compared with the ``Date`` of the same response, or with `now` if there is none.

    Returns
    -------
    float or None
        Seconds, not negative and not capped; ``None`` for a missing or invalid header.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return float(value)
    until = _date(value)
    # the service's own ``Date`` is preferred, because the clock of this machine may be wrong
    return None if until is None else max(0.0, (until - (_date(headers.get("date", "")) or now)).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError):  # raised for invalid dates
        return None
    # the zone "-0000" means UTC without a local time zone (RFC 5322, section 3.3)
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Parse ``x-should-retry``; ``None`` for a missing or invalid header."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
