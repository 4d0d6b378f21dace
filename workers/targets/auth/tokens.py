"""Access tokens: fetched from a token endpoint through the guard, held in memory until they expire, never stored."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from workers.egress import CallFailed, Egress, Quoter, Response
from workers.targets.auth.schemes import GcpServiceAccount, OAuth2, service_account

EARLY_S = 60.0
"""Seconds before its expiry from which a token is no longer used; at most half its lifetime."""

LONGEST = 16_384
"""Maximum length of a token in characters."""

JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"  # RFC 7523, section 2.1

Form = tuple[Mapping[str, str], Mapping[str, str]]
"""Fields and headers of a token request."""


@dataclass
class TokenSource:
    """Fetches the token of one target; concurrent calls share one fetch."""

    scheme: OAuth2 | GcpServiceAccount
    secret: str = field(repr=False)
    egress: Egress
    timeout_s: float
    token: str = field(default="", repr=False)
    """The current token; empty before the first fetch and after a refusal."""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._until: float | None = None
        self._fetching = asyncio.Lock()

    async def current(self) -> str:
        """Return a valid token, fetched if necessary; raise `CallFailed` if there is none."""
        async with self._fetching:
            if not self.token or (self._until is not None and self.clock() >= self._until):
                self.token, self._until = await self._fetch()
            return self.token

    def refuse(self, token: str) -> None:
        """Drop a token that the service refused, unless another call replaced it already."""
        if token == self.token:
            self.token = ""

    async def _fetch(self) -> tuple[str, float | None]:
        fields, headers = (
            client_credentials(self.scheme, self.secret)
            if isinstance(self.scheme, OAuth2)
            else assertion(self.scheme, self.secret, self.egress.now().timestamp())
        )
        requested_at = self.clock()
        try:
            response = await self.egress.send(
                "POST",
                self.scheme.token_url,
                headers={"Content-Type": "application/x-www-form-urlencoded", **headers},
                content=urlencode(fields).encode("ascii"),
                timeout_s=self.timeout_s,
                quote_body=Quoter(self.secret, *fields.values()).quote,
            )
            token, lifetime_s = token_in(response)
        except CallFailed as failed:
            code = "auth" if failed.status == 400 else failed.code  # RFC 6749, section 5.2
            raise CallFailed(
                code,
                f"no access token: {failed.message}",
                retriable=failed.retriable,
                retry_after_s=failed.retry_after_s,
            ) from None
        return token, None if lifetime_s is None else requested_at + lifetime_s - min(EARLY_S, lifetime_s / 2)


def client_credentials(scheme: OAuth2, secret: str) -> Form:
    """Return the token request of RFC 6749, section 4.4.2."""
    fields = {"grant_type": "client_credentials", **({"scope": scheme.scope} if scheme.scope else {})}
    fields |= scheme.parameters
    if scheme.client == "body":
        return {**fields, "client_id": scheme.client_id, "client_secret": secret}, {}
    pair = f"{quote(scheme.client_id, safe='')}:{quote(secret, safe='')}"  # section 2.3.1
    return fields, {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def assertion(scheme: GcpServiceAccount, secret: str, now_s: float) -> Form:
    """Return the token request with a signed assertion (RFC 7523); `now_s` is the time in seconds since 1970."""
    account = service_account(secret)
    head = {"alg": "RS256", "typ": "JWT", **({"kid": account.key_id} if account.key_id else {})}
    claims = {
        "iss": account.email,
        "scope": scheme.scope,
        "aud": scheme.token_url,
        "iat": int(now_s),
        "exp": int(now_s) + 3600,
    }
    signed = b".".join(_base64url(json.dumps(part).encode()) for part in (head, claims))
    signature = account.key.sign(signed, PKCS1v15(), SHA256())
    return {"grant_type": JWT_GRANT, "assertion": b".".join([signed, _base64url(signature)]).decode()}, {}


def token_in(response: Response) -> tuple[str, float | None]:
    """Return the token in an answer and its lifetime in seconds (or ``None``); raise `CallFailed` without a token."""
    document = response.json()
    token, kind = (
        (document.get(name) for name in ("access_token", "token_type")) if isinstance(document, dict) else (None, "")
    )
    if not isinstance(token, str) or not 0 < len(token) <= LONGEST or not (token.isascii() and token.isprintable()):
        raise CallFailed("wrong-shape", f"{response.origin} answered without an access_token")
    if kind is not None and str(kind).lower() != "bearer":
        raise CallFailed("wrong-shape", f"{response.origin} returned a token that is not a bearer token")
    try:
        lifetime_s = float(document["expires_in"])
    except (LookupError, TypeError, ValueError):
        return token, None  # the lifetime is optional; a token of unknown lifetime is used until it is refused
    return token, max(0.0, lifetime_s)


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
