"""The secret of a service between the steps of the wizard: sealed in a hidden field, never in the page itself."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from service.container import service_of
from store.core.columns import SealedSecret
from store.core.errors import SecretLost, SecretMoved
from store.security.secrets import destination_of
from web.frame import Visit

KEPT_S = 2 * 60 * 60
"""Seconds after which a sealed secret is not opened any more."""


def seal(visit: Visit, plain: str, described: Mapping[str, Any]) -> str:
    """Return a secret, encrypted for this session, for the destination of the described target, and for two hours."""
    until = str(int(time.time()) + KEPT_S)
    sealed = service_of(visit.request).vault.seal(plain, **_place(visit, until, described))
    parts = (base64.urlsafe_b64encode(part).decode() for part in (sealed.nonce, sealed.ciphertext))
    return ".".join((until, sealed.key_id, *parts))


def opened(visit: Visit, field_text: str, described: Mapping[str, Any]) -> str | None:
    """Return the secret of a hidden field; ``None`` if it is too old, altered, or for another session or target."""
    try:
        until, key_id, *parts = field_text.split(".")
        nonce, ciphertext = (base64.b64decode(part, b"-_", validate=True) for part in parts)
        sealed = SealedSecret(ciphertext, nonce, key_id, "")
        if int(until) < time.time():
            return None
        return service_of(visit.request).vault.open(sealed, **_place(visit, until, described))
    except (ValueError, binascii.Error, SecretLost, SecretMoved):
        return None


def _place(visit: Visit, until: str, described: Mapping[str, Any]) -> dict[str, str]:
    session = sha256(visit.session.encode()).hexdigest()
    purpose = json.dumps(["wizard", until, destination_of(described)])
    return {"tenant": visit.caller.tenant, "target": f"session {session}", "field": purpose}
