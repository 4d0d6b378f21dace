"""How long a service asks us to wait, in the forms services use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRY_AFTER_CAP_S = 300.0
"""Longest wait a caller grants a service, whatever it asks for."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read ``retry-after-ms`` or ``Retry-After``.

    Parameters
    ----------
    headers : mapping
        Header names in lower case, or a mapping that ignores case.
    now : datetime
        The present, with a time zone; a date in `headers` is laid beside it.

    Returns
    -------
    float or None
        Seconds, not negative and not capped; ``None`` if nothing, or nothing readable, was said.
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
    except (ValueError, OverflowError, IndexError):  # what it raises for various garbage
        return None
    if date.tzinfo is None:  # "-0000": UTC without a claim about the place (RFC 5322, section 3.3)
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Read ``x-should-retry``: the service's own word, or ``None`` if it says nothing."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
