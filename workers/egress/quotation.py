"""Quotations of a service: its own error messages and sample answers, cleaned before people see them.

A service may repeat the caller's key, in clear or encoded, and send characters that a terminal executes or that
reorder the shown text. `Quoter` removes all of that. Formats with a syntax of their own escape the result.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import unicodedata
from urllib.parse import quote, quote_plus

from assay.model import quotation

LONGEST = 300
"""Maximum length of a quotation in characters."""

MASK = "***"

READ = 4000
"""Characters of a message that are cleaned; the rest cannot be shown anyway."""

LONGEST_KEY = 8192
"""Characters read after the end of an excerpt, so that a key that crosses the end is masked."""

PART = 8
"""Length of the parts of a key that are searched for, so that a part of a key is masked as well."""

FEWEST = 4
"""Letters and digits that a key must have to be found reliably. If the key is shorter, nothing is quoted."""

NAMES = ("message", "detail", "error_description", "error", "errors", "msg", "title", "reason", "explanation")
"""Names of JSON members that may hold an error message, the best first."""

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""ANSI escape sequences, removed whole: without their control characters, visible characters would remain."""


def spellings(secret: str) -> frozenset[str]:
    """Return a key in every encoding in which a request may carry it and an echo may return it."""
    plain = secret.encode()
    forms = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
    forms |= {html.escape(secret), plain.hex()}
    for before in range(3):  # Base64 of a longer text, such as "user:key", depends on the key's place in it
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms.add(encode(b"\0" * before + plain).decode()[4 if before else 0 : -4])
    return frozenset(forms - {""})


class Quoter:
    """Cleans texts of a service; `secrets` are the keys that the service was sent."""

    def __init__(self, *secrets: str | None) -> None:
        keys = [secret for secret in secrets if secret is not None]
        forms = {_bare(form) for secret in keys for form in _forms(secret)}
        self._shows = all(len(_bare(secret)) >= FEWEST for secret in keys)
        self._parts: dict[int, set[str]] = {}
        for form in forms:
            if len(form) >= FEWEST:
                size = min(PART, len(form))
                parts = {form[start : start + size] for start in range(len(form) - size + 1)}
                self._parts.setdefault(size, set()).update(parts)

    def clean(self, text: str) -> str:
        """Return a text on one line, without the key, ANSI sequences and invisible characters, cut to `LONGEST`."""
        if not self._shows:
            return ""
        cleaned = self._masked(_visible(text[:READ]))
        return cleaned if len(cleaned) <= LONGEST else cleaned[: LONGEST - 1] + "…"

    def masked(self, message: str) -> str:
        """Return a message of ours without the key in its quotations; without them if the key is too short."""
        return self._masked(message) if self._shows else re.sub(r'"[^"]*"', '"…"', message)

    def excerpt(self, text: str, longest: int) -> str:
        """Return the first `longest` characters of a text with its line breaks, cleaned as by `clean`."""
        if not self._shows:
            return ""
        lines = (_visible(line, keep_spaces=True) for line in text[: longest + LONGEST_KEY].splitlines())
        cleaned = self._masked("\n".join(lines))
        return cleaned if len(cleaned) <= longest else f"{cleaned[:longest]}…"

    def quote(self, body: bytes) -> str:
        """Return the message in an error body as ``; it said: "…"``; empty without a message, and for a web page."""
        return quotation(self.clean(_message_in(body)))

    def _masked(self, text: str) -> str:
        """Mask the key in a text.

        Only letters and digits are compared, without case, so that escapes and line ends do not hide a key.
        """
        places = [index for index, char in enumerate(text) if char.isascii() and char.isalnum()]
        bare, hidden = _bare(text), bytearray(len(places))
        for size, parts in self._parts.items():
            for start in range(len(bare) - size + 1):
                if bare[start : start + size] in parts:
                    hidden[start : start + size] = b"\1" * size
        for match in reversed(list(re.finditer(b"\1+", hidden))):
            text = f"{text[: places[match.start()]]}{MASK}{text[places[match.end() - 1] + 1 :]}"
        return text


def _forms(secret: str) -> frozenset[str]:
    """Return all spellings of a secret; for basic credentials, also those of ``user:password`` and of the password."""
    try:
        decoded = base64.b64decode(secret.rpartition(" ")[2], validate=True).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    _, colon, password = decoded.partition(":")
    return spellings(secret).union(*(spellings(text) for text in (decoded, password) if colon and text))


def _bare(text: str) -> str:
    """Return the ASCII letters (in lower case) and digits of a text."""
    return "".join(char for char in text if char.isascii() and char.isalnum()).lower()


def _visible(text: str, *, keep_spaces: bool = False) -> str:
    """Return a text on one line, without control, format, unassigned and undecodable characters."""
    bare = _TERMINAL.sub("", text)
    line = re.sub(r"\s", " ", bare) if keep_spaces else re.sub(r"\s+", " ", bare)
    characters = (char for char in line if char != "\ufffd" and not unicodedata.category(char).startswith("C"))
    return "".join(characters) if keep_spaces else "".join(characters).strip()


def _message_in(body: bytes) -> str:
    """Return the message of an error body: a member of its JSON, or its text."""
    try:
        message = _found(json.loads(body))
    except (ValueError, RecursionError):
        message = ""
    text = body[: 4 * READ].decode("utf-8-sig", "replace").lstrip()
    return message or ("" if text.startswith("<") else text)


def _found(value: object, depth: int = 4) -> str:
    match value:
        case str():
            return value
        case dict() if depth:
            return next(filter(None, (_found(value[name], depth - 1) for name in NAMES if name in value)), "")
        case list() if depth and value:
            return _found(value[0], depth - 1)
        case _:
            return ""
