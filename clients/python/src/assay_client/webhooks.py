"""Verification of webhook notices: Standard Webhooks 1.0, signatures ``v1``."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping
from typing import cast

from assay_client.documents import CloudEvent, Notice
from assay_client.errors import WebhookRejected

TOLERANCE_S = 300
MOST_DIGITS = 20
SECRET_PREFIX = "whsec_"  # noqa: S105  prefix of secrets, not a secret


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secret: str,
    *,
    tolerance_s: float = TOLERANCE_S,
    now_s: float | None = None,
) -> Notice | CloudEvent:
    """Verify the signature and the time of a notice, then parse it.

    Parameters
    ----------
    headers : mapping
        Headers of the request; the case of names does not matter.
    body : bytes
        Body of the request, unparsed.
    secret : str
        Secret of the webhook, ``whsec_…``, as its creation or rotation showed it.
    tolerance_s : float
        Seconds by which the notice may be older or newer than now, against replay of recorded notices.
    now_s : float, optional
        The time in seconds since 1970; the system clock by default.

    Raises
    ------
    WebhookRejected
        If a header is missing or malformed, the time is off, or no signature is valid.
    ValueError
        If `secret` is malformed.
    """
    by_name = {name.lower(): value for name, value in headers.items()}
    message_id, sent_s, signatures = (_require(by_name, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    _check_time(sent_s, tolerance_s, time.time() if now_s is None else now_s)
    expected = hmac.digest(_decode_secret(secret), b"%s.%s.%s" % (message_id.encode(), sent_s.encode(), body), "sha256")
    # all signatures are compared in constant time, so that the duration does not reveal which one nearly matched
    matches = [hmac.compare_digest(mac, expected) for mac in map(_decode, signatures.split()) if mac is not None]
    if not any(matches):
        raise WebhookRejected(f"no v1 signature of {message_id} is correct; is this the newest secret of the webhook?")
    return cast("Notice | CloudEvent", json.loads(body))


def _require(headers: Mapping[str, str], name: str) -> str:
    if not (value := headers.get(name, "")) or not value.isascii():
        raise WebhookRejected(f"the header {name} is missing or malformed")
    return value


def _check_time(timestamp: str, tolerance_s: float, now_s: float) -> None:
    if not timestamp.isdecimal() or len(timestamp) > MOST_DIGITS:
        raise WebhookRejected(f"webhook-timestamp is {timestamp[:MOST_DIGITS]!r}, not seconds since 1970")
    if abs(age_s := now_s - int(timestamp)) > tolerance_s:
        raise WebhookRejected(
            f"sent {abs(age_s):.0f} s {'ago' if age_s > 0 else 'ahead'}; {tolerance_s:g} s are allowed"
        )


def _decode_secret(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not key or not secret.startswith(SECRET_PREFIX):
        raise ValueError("the secret of a webhook must be whsec_ followed by base64")
    return key


def _decode(text: str) -> bytes | None:
    """Decode a signature ``v1,<base64>``; ``None`` for other versions (v1a is Ed25519) and for invalid base64."""
    version, _, encoded = text.partition(",")
    try:
        return base64.b64decode(encoded, validate=True) if version == "v1" else None
    except binascii.Error:
        return None
