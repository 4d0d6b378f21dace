"""Signatures of Standard Webhooks 1.0 over ``id.timestamp.body``.

``v1`` is an HMAC with a secret shared with the receiver; ``v1a`` is an Ed25519 signature with the agency's key.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence

from store.webhooks.webhooks import SECRET_PREFIX


def sign_with_secret(secret: str, message: bytes) -> str:
    """Sign with a ``whsec_…`` secret: ``v1,`` and the base64 of HMAC-SHA256."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, message, "sha256")).decode()


def sign_with_key(sign: Callable[[bytes], bytes], message: bytes) -> str:
    """Sign with an Ed25519 key: ``v1a,`` and the base64 of 64 bytes."""
    return "v1a," + base64.b64encode(sign(message)).decode()


def signed_headers(
    message_id: str, timestamp_s: int, body: bytes, secrets: Sequence[str], sign: Callable[[bytes], bytes]
) -> dict[str, str]:
    """Return the three headers of Standard Webhooks.

    Parameters
    ----------
    message_id : str
        Webhook id, the same for every attempt.
    timestamp_s : int
        Time of this attempt, in seconds since 1970; receivers refuse messages older than five minutes.
    secrets : sequence of str
        All valid ``whsec_…`` secrets: two after a rotation, none for a ``callback_url``.
    sign : callable
        Signs with the agency's key.
    """
    message = b"%s.%d.%s" % (message_id.encode(), timestamp_s, body)
    signatures = [*(sign_with_secret(secret, message) for secret in secrets), sign_with_key(sign, message)]
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp_s), "webhook-signature": " ".join(signatures)}
