"""Failures of calls: one exception, and the table of its codes.

Codes are stored in ledgers and shown in ratings, so their meaning never changes. Messages name the host and the
remedy. They may end with the service's own message, and hold no secret, no query string and nothing else of a body.
A service may repeat the caller's key, in clear or encoded, and send characters that a terminal executes or that
reorder the shown text. `Quoter` removes all of that. Formats with a syntax of their own escape the result.
"""

import base64
import binascii
import html
import json
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.resources import files
from urllib.parse import quote, quote_plus

from assay.errors import SpecificationError
from assay.model import quotation

MAX_QUOTED_CHARACTERS = 300
"""Maximum length of a quotation in characters."""

MASK = "***"

MAX_CLEANED_CHARACTERS = 4000
"""Maximum characters of a message that are cleaned; more than a quotation can hold."""

LONGEST_KEY = 8192
"""Characters read after the end of an excerpt, so that a key that crosses the end is masked."""

KEY_PART_CHARACTERS = 8
"""Length of the parts of a key that are searched for, so that a part of a key is masked as well."""

MIN_KEY_CHARACTERS = 4
"""Letters and digits that a key must have to be found reliably. If the key is shorter, nothing is quoted."""

MESSAGE_NAMES = ("message", "detail", "error_description", "error", "errors", "msg", "title", "reason", "explanation")
"""Names of JSON members that may hold an error message, the best first."""

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""ANSI escape sequences, removed whole: without their control characters, visible characters would remain."""


def spellings(secret: str) -> frozenset[str]:
    """Return a key in every encoding in which a request may send it and a service may repeat it."""
    secret_bytes = secret.encode()
    key_spellings = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
    key_spellings |= {html.escape(secret), secret_bytes.hex()}
    for offset in range(3):  # Base64 of a longer text, such as "user:key", depends on the key's place in it
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # the first group of four characters depends on the text before the key, the last on the text after it
            key_spellings.add(encode(b"\0" * offset + secret_bytes).decode()[4 if offset else 0 : -4])
    return frozenset(key_spellings - {""})


class Quoter:
    """Cleaner of a service's texts before they are shown; `secrets` are the keys that the service was sent."""

    def __init__(self, *secrets: str | None) -> None:
        keys = [secret for secret in secrets if secret is not None]
        key_spellings = {_letters_and_digits(spelling) for secret in keys for spelling in _secret_spellings(secret)}
        # a shorter key could not be told from other text
        self._may_quote = all(len(_letters_and_digits(secret)) >= MIN_KEY_CHARACTERS for secret in keys)
        self._key_parts: dict[int, set[str]] = {}  # parts of all spellings, by their length
        for spelling in key_spellings:
            if len(spelling) >= MIN_KEY_CHARACTERS:
                length = min(KEY_PART_CHARACTERS, len(spelling))
                key_parts = {spelling[start : start + length] for start in range(len(spelling) - length + 1)}
                self._key_parts.setdefault(length, set()).update(key_parts)

    def clean(self, text: str) -> str:
        """Return a text as a line of up to 300 visible characters without keys; empty if a key is too short to find."""
        if not self._may_quote:
            return ""
        clean_text = self._mask_keys(_printable_line(text[:MAX_CLEANED_CHARACTERS]))
        return clean_text if len(clean_text) <= MAX_QUOTED_CHARACTERS else clean_text[: MAX_QUOTED_CHARACTERS - 1] + "…"

    def masked(self, message: str) -> str:
        """Mask keys in a message of Assay that quotes a service; if a key is too short to find, remove quotations."""
        return self._mask_keys(message) if self._may_quote else re.sub(r'"[^"]*"', '"…"', message)

    def excerpt(self, text: str, longest: int) -> str:
        """Return the first `longest` characters of a text, cleaned as by `clean`, but with its line breaks."""
        if not self._may_quote:
            return ""
        lines = (_printable_line(line, keep_spaces=True) for line in text[: longest + LONGEST_KEY].splitlines())
        clean_text = self._mask_keys("\n".join(lines))
        return clean_text if len(clean_text) <= longest else f"{clean_text[:longest]}…"

    def quote(self, body: bytes) -> str:
        """Return the message in an error body as ``; it said: "…"``; empty without a message, and for a web page."""
        return quotation(self.clean(_message_in(body)))

    def _mask_keys(self, text: str) -> str:
        """Mask the keys, and parts of them, in a text.

        Only letters and digits are compared, without case, so that escapes and line ends do not hide a key.
        """
        positions = [index for index, char in enumerate(text) if char.isascii() and char.isalnum()]
        characters, mask = _letters_and_digits(text), bytearray(len(positions))  # 1: part of a key
        for length, key_parts in self._key_parts.items():
            for start in range(len(characters) - length + 1):
                if characters[start : start + length] in key_parts:
                    mask[start : start + length] = b"\1" * length
        for match in reversed(list(re.finditer(b"\1+", mask))):  # from the end, so that earlier positions stay valid
            text = f"{text[: positions[match.start()]]}{MASK}{text[positions[match.end() - 1] + 1 :]}"
        return text


def _secret_spellings(secret: str) -> frozenset[str]:
    """Return all spellings of a secret; for basic credentials, also those of ``user:password`` and of the password."""
    try:
        encoded = secret.rpartition(" ")[2]  # the secret may begin with the scheme: "Basic dXNlcjpwdw=="
        decoded_secret = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        decoded_secret = ""
    _, colon, password = decoded_secret.partition(":")
    return spellings(secret).union(*(spellings(text) for text in (decoded_secret, password) if colon and text))


def _letters_and_digits(text: str) -> str:
    """Return the ASCII letters (in lower case) and digits of a text."""
    return "".join(char for char in text if char.isascii() and char.isalnum()).lower()


def _printable_line(text: str, *, keep_spaces: bool = False) -> str:
    """Return a text on one line, without unprintable characters; successive spaces become one unless `keep_spaces`."""
    printable_text = _TERMINAL.sub("", text)
    line = re.sub(r"\s", " ", printable_text) if keep_spaces else re.sub(r"\s+", " ", printable_text)
    characters = (char for char in line if char != "\ufffd" and not unicodedata.category(char).startswith("C"))
    return "".join(characters) if keep_spaces else "".join(characters).strip()


def _message_in(body: bytes) -> str:
    """Return the message of an error body: a member of its JSON, or its text."""
    try:
        message = _message_member(json.loads(body))
    except (ValueError, RecursionError):
        message = ""
    text = body[: 4 * MAX_CLEANED_CHARACTERS].decode("utf-8-sig", "replace").lstrip()  # 4 bytes a character at most
    return message or ("" if text.startswith("<") else text)  # no web page


def _message_member(member: object, depth: int = 4) -> str:
    """Return the first message in a JSON value, at most `depth` levels deep; empty if there is none."""
    match member:
        case str():
            return member
        case dict() if depth:
            messages = (_message_member(member[name], depth - 1) for name in MESSAGE_NAMES if name in member)
            return next(filter(None, messages), "")
        case list() if depth and member:
            return _message_member(member[0], depth - 1)
        case _:
            return ""


@dataclass(frozen=True, slots=True)
class Code:
    """Meaning of a failure code, and whether a retry may help."""

    meaning: str
    retriable: bool


CODES: Mapping[str, Code] = {
    code: Code(**facts)
    for code, facts in tomllib.loads(files(__package__).joinpath("failure_codes.toml").read_text("utf-8")).items()
}
"""All codes of a `CallFailed` or a target's `Failure`; ``http-<status>`` stands for all codes with a status."""

RETRIABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


class CallFailed(Exception):
    """A call failed.

    `code` is a key of `CODES`, or ``http-`` and the `status`. `message` is for people: it has no secrets or query
    strings, and quotations from a body are cleaned. `retriable`: whether the same call may succeed later; by default as
    in `CODES`. `retry_after_s`: the wait that the service requested, in seconds (at most `RETRY_AFTER_CAP_S` count).
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

    def renamed(self, subject: str) -> "CallFailed":
        """Return a copy whose message begins with a subject, such as the name of the service."""
        return CallFailed(
            self.code,
            f"{subject}: {self.message}",
            retriable=self.retriable,
            retry_after_s=self.retry_after_s,
            status=self.status,
        )

    def __repr__(self) -> str:
        return f"CallFailed({self.code!r}, {self.message!r}, retriable={self.retriable}, status={self.status})"


class AddressRefused(SpecificationError):
    """The URL in the request's `field` is invalid, or leads to an address that Assay does not call."""

    code = "refused-address"

    def __init__(self, message: str, field: str | None = "base_url") -> None:
        super().__init__(message, field)


RETRY_AFTER_CAP_S = 300.0
"""Maximum wait in seconds, even if the service requests more."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Parse ``retry-after-ms`` or ``Retry-After``; names in `headers` must be in lower case or ignore case.

    A date is compared with the ``Date`` of the same response, or with `now` if there is none. Return seconds, not
    negative and not capped; ``None`` for a missing or invalid header.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    retry_after = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(retry_after):
        return float(retry_after)
    retry_at = _parse_date(retry_after)
    # the service's own ``Date`` is preferred, because the clock of this machine may be wrong
    now = _parse_date(headers.get("date", "")) or now
    return None if retry_at is None else max(0.0, (retry_at - now).total_seconds())


def _parse_date(text: str) -> datetime | None:
    """Parse the date of an HTTP header, with its time zone; ``None`` for an invalid one."""
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError):  # raised for invalid dates
        return None
    # the zone "-0000" means UTC without a local time zone (RFC 5322, section 3.3)
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Parse ``x-should-retry``: whether a retry may help; ``None`` for a missing or invalid header."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
