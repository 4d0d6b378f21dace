"""Failures of calls: one exception, and the table of its codes.

Codes are stored in ledgers and shown in ratings, so their meaning never changes. Messages name the host and the
remedy. They may end with the service's own message, cleaned by `workers.egress.quotation`, and hold no secret, no
query string and nothing else of a body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from assay.errors import SpecificationError


@dataclass(frozen=True, slots=True)
class Code:
    """Meaning of a failure code, and whether a retry may help."""

    meaning: str
    retriable: bool


CODES: Mapping[str, Code] = {
    # failures before the request is sent
    "refused-address": Code("our own guard refused the address", False),
    "connect": Code("no connection: the name has no address, or nothing listens there", True),
    "tls": Code("the certificate or the handshake is not to be trusted", False),
    # failures while waiting for the answer
    "timeout": Code("the whole answer did not come within the call's deadline", True),
    "truncated": Code("the connection ended before the answer did", True),
    "too-large": Code("the answer or its headers exceed what we read", False),
    "encoded-body": Code("the body is compressed although we asked for it plain", False),
    "garbage": Code("what came is not HTTP, or a web page where data was expected", True),
    # failures by HTTP status
    "redirect": Code("a 3xx: redirects are not followed", False),
    "auth": Code("401 or 403: the key is missing, wrong or not allowed", False),
    "quota": Code("the account's allowance is used up; waiting a little does not help", False),
    "http-<status>": Code("any other status that is no success; 408, 425, 429 and most 5xx are retried", False),
    # failures by the content of the body
    "bad-json": Code("the body is not JSON", True),
    "wrong-shape": Code("JSON, but not of the form the protocol promises", False),
    "wrong-count": Code("another number of answers than questions", False),
    "declined": Code("the service chose not to answer this question", False),
    "cut-short": Code("the service says that it stopped before the end", False),
    "missing-word": Code("the embedding has no vector for the text, nor for each of its words", False),
    "no-echo": Code("the tokens of the prompt did not come back with their log-probabilities", False),
    "unknown-word": Code("the masked model does not know the word as one token", False),
    "no-choice": Code("the answer was none of the letters of the options", False),
    "unknown-label": Code("an image's labels were other ones than those asked about, or not all of them", False),
    "image-gone": Code("the question is about an image that is not kept, or no longer shared", False),
    "image-elsewhere": Code("the author gave an image's address instead of the image", False),
    "not-an-image": Code("what was drawn is no PNG, JPEG, WebP or GIF", False),
    "damaged-image": Code("what was drawn cannot be read to its end", False),
    "image-too-large": Code("what was drawn has too many bytes or pixels", False),
    "moving-image": Code("what was drawn is several pictures, one after the other", False),
    "unsupported": Code("the service, the language or the text cannot be used this way", False),
}
"""All codes of a `CallFailed` or a target's `Failure`."""

RETRIABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


class CallFailed(Exception):
    """A call failed.

    Parameters
    ----------
    code : str
        A key of `CODES`, or ``http-`` and the status.
    message : str
        For people, without secrets or query strings; it may quote a body, but only cleaned.
    retriable : bool, optional
        Whether the same call may succeed later; by default as in `CODES`.
    retry_after_s : float, optional
        Seconds that the service asked callers to wait; callers cap it at `RETRY_AFTER_CAP_S`.
    status : int, optional
        HTTP status, if there was one.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retriable: bool | None = None,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.retry_after_s = code, message, status, retry_after_s
        self.retriable = CODES[code].retriable if retriable is None else retriable

    def __repr__(self) -> str:
        return f"CallFailed({self.code!r}, {self.message!r}, retriable={self.retriable}, status={self.status})"


class AddressRefused(SpecificationError):
    """The URL is invalid, or leads to an address that Assay does not call."""

    code = "refused-address"

    def __init__(self, message: str, field: str | None = "base_url") -> None:
        super().__init__(message, field)


# ------------------------------------------------------------------------------- Retry-After
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
