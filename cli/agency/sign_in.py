"""OpenID Connect provider from the settings; its requests pass the egress guard like all outgoing calls."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import structlog

from service.http.problems import Problem
from store.core.settings import Settings
from store.security.secrets import Vault
from web.sign_in.provider import CALLBACK, Client, Provider
from workers.egress import AGENT, CallFailed, Egress

TIMEOUT_S = 10

CAP_BYTES = 1 << 18
"""Maximum size of an answer of the provider."""

CALLS = 4
"""Maximum number of concurrent calls, because anybody may begin to sign in."""

REFUSED = 400
"""HTTP status with which a provider refuses an invalid authorisation code (RFC 6749, section 5.2)."""

log = structlog.get_logger(__name__)


def open_provider(settings: Settings, vault: Vault) -> Provider | None:
    """Return the settings' OpenID provider, ``None`` without one; raise `ValueError` if the API requires no keys."""
    if settings.oidc_issuer is None:
        return None
    if not settings.keys_required:
        raise ValueError("oidc_issuer is set, but sign-in has no effect without keys: set ASSAY_AUTH=keys")
    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret else ""
    call_slots = asyncio.Semaphore(CALLS)

    async def ask(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Any:
        """Send a request to the provider, and return the JSON of its answer; raise `Problem` if the call fails."""
        try:
            async with call_slots, Egress(settings.egress_networks, response_cap=CAP_BYTES, user_agent=AGENT) as egress:
                secrets = (secret,) if secret else None
                call = egress.send(method, url, headers=headers, content=body, timeout_s=TIMEOUT_S, secrets=secrets)
                return (await call).json()
        except CallFailed as failed:
            log.warning("sign-in provider failed", why=failed.message, url=url)
            raise Problem("sign-in-failed" if failed.status == REFUSED else "provider-unavailable") from None

    redirect_uri = f"{(settings.public_url or '').rstrip('/')}{CALLBACK}"
    client_id = settings.oidc_client_id or ""
    client = Client(settings.oidc_issuer, client_id, secret, scopes=settings.oidc_scopes, redirect_uri=redirect_uri)
    # a session stores its rule's mark (keyed hash), so any change of provider, client or rules ends people's sessions
    policy = json.dumps([client.issuer, client.id, secret, *(rule.model_dump() for rule in settings.oidc_rules)])
    rules = {vault.mark(f"oidc rule {index} of {policy}"): rule for index, rule in enumerate(settings.oidc_rules)}
    return Provider(client, settings.oidc_name, rules, ask)
