"""Sign-in by OpenID Connect: the provider of people's accounts, and one attempt to sign in (code flow with PKCE)."""

import base64
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from assay.document import JsonObject
from service.http.problems import Problem
from service.http.swr_cache import SwrCache
from store.security.rights import Rule

CALLBACK = "/sign-in/oidc/callback"

ATTEMPT_S = 600
"""Seconds in which a person signs in at the provider."""

KEPT_S = 600
"""Seconds for which the provider's addresses and keys are cached."""

RELOAD_S = 60
"""Minimum seconds between two reloads of the keys that are caused by an unknown key id in a token."""

LEEWAY_S = 60
"""Seconds by which the provider's clock may differ."""

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Accepted signatures, all asymmetric: with HS256, the provider's public key could be used as a secret."""

Ask = Callable[[str, str, Mapping[str, str], bytes], Awaitable[Any]]
"""Function that sends a request (method, URL, headers, body) and returns the answer's JSON, or raises `Problem`."""


@dataclass(frozen=True)
class Attempt:
    """One attempt to sign in, bound to a browser by its cookie.

    All secrets are computed from the cookie with a key of the agency, so nothing is stored. With
    a changed cookie, the `state` that the provider sends back does not match.
    """

    cookie: str
    """End of the attempt in seconds since 1970, a random part, and the page that follows."""
    mark: Callable[[str], str]
    """Returns the HMAC of a text (`Vault.mark`): 43 characters, as long as a code verifier must be."""

    @classmethod
    def begin(cls, mark: Callable[[str], str], next_page: str) -> Self:
        """Begin an attempt, whose secrets `mark` computes; the page `next_page` is shown after it has succeeded."""
        page = base64.urlsafe_b64encode(next_page.encode()).decode()
        return cls(f"{int(time.time()) + ATTEMPT_S}.{token_urlsafe(32)}.{page}", mark)

    @property
    def state(self) -> str:
        """Value that the provider sends back: it shows that this browser began the attempt."""
        return self.mark(f"oidc state {self.cookie}")

    @property
    def nonce(self) -> str:
        """Value in the ID token: it shows that the token was made for this attempt."""
        return self.mark(f"oidc nonce {self.cookie}")

    @property
    def verifier(self) -> str:
        """Code verifier (RFC 7636)."""
        return self.mark(f"oidc verifier {self.cookie}")

    def check(self, state: str) -> str:
        """Return the next page; raise ``sign-in-failed`` if `state`, sent back by the provider, is wrong or late."""
        if not hmac.compare_digest(state.encode(), self.state.encode()):
            raise Problem("sign-in-failed", "this sign-in was started in another browser, or it has already ended")
        end, _, page = self.cookie.split(".")  # a changed cookie has another state
        if int(end) <= time.time():
            raise Problem("sign-in-failed", f"this sign-in took longer than {ATTEMPT_S // 60} minutes")
        return base64.urlsafe_b64decode(page).decode()


@dataclass(frozen=True)
class Endpoints:
    """Addresses of a provider; `posts_secret`: whether it accepts the client's secret only in the body."""

    authorization: str
    token: str
    keys: str
    posts_secret: bool


@dataclass(frozen=True)
class Client:
    """The agency as the provider of accounts knows it; `secret` is empty for a public client."""

    issuer: str
    id: str
    secret: str
    scopes: str
    redirect_uri: str


class Provider:
    """OpenID Connect provider. The sign-in page shows its `name`; `ask` sends the requests to it.

    `rules` grant rights to people with certain claims; a session stores the key of its rule.
    """

    def __init__(self, client: Client, name: str, rules: Mapping[str, Rule], ask: Ask) -> None:
        self.name, self.rules, self._client, self._ask = name, rules, client, ask
        self._endpoints = SwrCache[str, Endpoints](keep_s=KEPT_S, stale_s=KEPT_S)
        self._keys = SwrCache[str, KeySet](keep_s=KEPT_S, stale_s=KEPT_S)
        self._keys_reloaded_at = float("-inf")
        self._claims_rules = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": client.issuer},
            aud={"essential": True, "value": client.id},
            azp={"value": client.id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )

    async def address(self, attempt: Attempt) -> str:
        """Return the provider's address at which a person signs in, with the parameters of the attempt."""
        endpoint = (await self._read_endpoints()).authorization
        challenge = hashlib.sha256(attempt.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._client.redirect_uri,
            "scope": self._client.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"

    async def claims(self, attempt: Attempt, code: str) -> JsonObject:
        """Exchange the provider's one-time code for the verified claims (facts) about the person.

        Raise `Problem` ``sign-in-failed`` if the code or the ID token is not valid, ``provider-unavailable`` if the
        provider does not answer as OpenID Connect requires.
        """
        endpoints, client = await self._read_endpoints(), self._client
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": client.redirect_uri}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if client.secret and not endpoints.posts_secret:
            credentials = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"  # RFC 6749, section 2.3.1
            headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
        else:
            fields |= {"client_id": client.id} | ({"client_secret": client.secret} if client.secret else {})
        body = urlencode({**fields, "code_verifier": attempt.verifier}).encode()
        response = await self._ask("POST", endpoints.token, headers, body)
        token = response.get("id_token") if isinstance(response, dict) else None
        if not isinstance(token, str):
            raise Problem("provider-unavailable", "the provider answered without an ID token")
        try:
            claims = await self._decode_claims(token, endpoints.keys)
            self._claims_rules.validate(claims)
        except (JoseError, ValueError) as error:
            raise Problem("sign-in-failed", f"the provider's ID token is not valid ({error})") from None
        # OpenID Connect Core 1.0, section 3.1.3.7: with several audiences, azp says which one the token is for
        if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and "azp" not in claims:
            raise Problem("sign-in-failed", "the provider's ID token is for several audiences and has no azp")
        if claims.get("nonce") != attempt.nonce:
            raise Problem("sign-in-failed", "the provider's ID token was made for another sign-in")
        return claims

    async def _decode_claims(self, token: str, url: str) -> JsonObject:
        """Return the verified claims of an ID token; if its key is unknown, read the provider's keys again before."""
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        keys = await self._keys.get(url, lambda: self._read_keys(url))
        try:
            return jwt.decode(token, keys, registry=registry).claims
        except InvalidKeyIdError:
            if time.monotonic() - self._keys_reloaded_at < RELOAD_S:  # the provider may have a new key
                raise
        self._keys_reloaded_at = time.monotonic()
        self._keys.clear()
        return jwt.decode(token, await self._keys.get(url, lambda: self._read_keys(url)), registry=registry).claims

    async def _read_keys(self, url: str) -> KeySet:
        response = await self._ask("GET", url, {}, b"")
        try:
            return KeySet.import_key_set(response)
        except (JoseError, LookupError, TypeError, ValueError, AttributeError):
            raise Problem("provider-unavailable", "the provider's keys are not a JSON Web Key Set") from None

    async def _read_endpoints(self) -> Endpoints:
        return await self._endpoints.get("", self._discover)  # a cache with one entry

    async def _discover(self) -> Endpoints:
        """Read the provider's addresses (OpenID Connect Discovery 1.0)."""
        issuer = self._client.issuer
        document = await self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration", {}, b"")
        if not isinstance(document, dict) or document.get("issuer") != issuer:
            raise Problem("provider-unavailable", "the issuer stated by the provider differs from ASSAY_OIDC_ISSUER")
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        authorization, token, keys = (str(document.get(name)) for name in names)
        for url in (authorization, token, keys):
            # an issuer without TLS may have addresses without TLS on its own host
            if urlsplit(url).scheme != "https" and urlsplit(url)[:2] != urlsplit(issuer)[:2]:  # scheme, host
                raise Problem("provider-unavailable", "the provider has an address that does not begin with https://")
        methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        posts = isinstance(methods, list) and "client_secret_post" in methods and "client_secret_basic" not in methods
        return Endpoints(authorization, token, keys, posts_secret=posts)
