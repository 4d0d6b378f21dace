"""Parsing of ``Retry-After`` and related headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRY_AFTER_CAP_S = 300.0
"""Maximum wait in seconds, whatever the service requests."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Parse ``retry-after-ms`` or ``Retry-After``; names in `headers` must be in lower case or ignore case.

    Returns
    -------
    float or None
        Seconds, not negative and not capped; ``None`` for a missing or invalid header.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    said = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(said):
        return float(said)
    return _seconds_until(said, now)


def _seconds_until(said: str, now: datetime) -> float | None:
    try:
        date = parsedate_to_datetime(said)
    except (ValueError, OverflowError, IndexError):  # raised for invalid dates
        return None
    if date.tzinfo is None:  # the zone "-0000" means UTC without a local time zone (RFC 5322, section 3.3)
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Parse ``x-should-retry``; ``None`` for a missing or invalid header."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
