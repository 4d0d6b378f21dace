"""Credentials of a target: add its secret, a signature or an access token to each request.

Access tokens are fetched through the guard, held in memory until they expire, and never stored.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from workers.egress import CallFailed, Egress, Response
from workers.targets.auth.schemes import (
    AwsKeys,
    AwsSigV4,
    GcpServiceAccount,
    OAuth2,
    Placed,
    Plain,
    Scheme,
    aws_keys,
    client_certificate,
    service_account,
)
from workers.targets.protocols.custom.templates import fill_text

MARGIN_S = 60.0
"""A token is not used in the last `MARGIN_S` seconds of its lifetime, or in the last half if that is shorter."""

MAX_TOKEN = 16_384
"""Maximum length of a token in characters."""

JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"  # RFC 7523, section 2.1

TokenRequest = tuple[Mapping[str, str], Mapping[str, str]]
"""Fields and headers of a token request."""


@dataclass
class TokenSource:
    """Source of a target's access token; concurrent calls share one token request."""

    scheme: OAuth2 | GcpServiceAccount
    secret: str = field(repr=False)
    egress: Egress
    timeout_s: float
    token: str = field(default="", repr=False)
    """The current token; empty before the first fetch and after a refusal."""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._valid_until: float | None = None
        self._fetch_lock = asyncio.Lock()

    async def current(self) -> str:
        """Return a valid token, fetched if necessary; raise `CallFailed` if no token can be fetched."""
        async with self._fetch_lock:
            if not self.token or (self._valid_until is not None and self.clock() >= self._valid_until):
                self.token, self._valid_until = await self._fetch_token()
            return self.token

    def refuse(self, token: str) -> None:
        """Drop a token that the service refused, unless another call replaced it already."""
        if token == self.token:
            self.token = ""

    async def _fetch_token(self) -> tuple[str, float | None]:
        """Return a new token, and the time of the clock until which it is used (``None``: until it is refused)."""
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
                secrets=(self.secret, *fields.values()),
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
        return token, None if lifetime_s is None else requested_at + lifetime_s - min(MARGIN_S, lifetime_s / 2)


def client_credentials(scheme: OAuth2, secret: str) -> TokenRequest:
    """Return the form fields and headers of a token request with the client's id and secret (RFC 6749, 4.4.2)."""
    fields = {"grant_type": "client_credentials", **({"scope": scheme.scope} if scheme.scope else {})}
    fields |= scheme.parameters
    if scheme.client == "body":
        return {**fields, "client_id": scheme.client_id, "client_secret": secret}, {}
    id_and_secret = f"{quote(scheme.client_id, safe='')}:{quote(secret, safe='')}"  # section 2.3.1
    return fields, {"Authorization": f"Basic {base64.b64encode(id_and_secret.encode()).decode()}"}


def assertion(scheme: GcpServiceAccount, secret: str, now_s: float) -> TokenRequest:
    """Return the form fields of a token request with an assertion signed at `now_s` (Unix time), and no headers."""
    account = service_account(secret)
    header = {"alg": "RS256", "typ": "JWT", **({"kid": account.key_id} if account.key_id else {})}
    claims = {
        "iss": account.email,
        "scope": scheme.scope,
        "aud": scheme.token_url,
        "iat": int(now_s),
        "exp": int(now_s) + 3600,  # Google accepts at most an hour
    }
    signed_part = b".".join(_base64url(json.dumps(part).encode()) for part in (header, claims))
    signature = account.key.sign(signed_part, PKCS1v15(), SHA256())
    return {"grant_type": JWT_GRANT, "assertion": b".".join([signed_part, _base64url(signature)]).decode()}, {}


def token_in(response: Response) -> tuple[str, float | None]:
    """Return an answer's token and its lifetime in seconds (``None``: unstated); raise `CallFailed` without a token."""
    document = response.json()
    members = document if isinstance(document, dict) else {}
    token, token_type = members.get("access_token"), members.get("token_type")
    if not isinstance(token, str) or not 0 < len(token) <= MAX_TOKEN or not (token.isascii() and token.isprintable()):
        raise CallFailed("wrong-shape", f"{response.origin} answered without an access_token")
    if token_type is not None and str(token_type).lower() != "bearer":
        raise CallFailed("wrong-shape", f"{response.origin} returned a token that is not a bearer token")
    try:
        lifetime_s = float(document["expires_in"])
    except (LookupError, OverflowError, TypeError, ValueError):
        return token, None  # the lifetime is optional; a token of unknown lifetime is used until it is refused
    return token, max(0.0, lifetime_s)


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """HTTP request with its full URL. Its `repr` leaves out parts that may hold a secret."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


class Credentials:
    """Authenticates the requests to one target.

    Parameters
    ----------
    auth : str or scheme
        A value of the setting ``auth``.
    secret : str
        The target's secret, of the form that `workers.targets.auth.schemes.check_auth` requires.
    timeout_s : float
        Deadline of a token request in seconds.

    Attributes
    ----------
    egress : Egress
        Client for the target's calls; one with a client certificate for ``mtls``.
    """

    def __init__(self, auth: Plain | Scheme, secret: str, base_url: str, egress: Egress, timeout_s: float) -> None:
        self.egress = egress.certified(client_certificate(secret)) if auth == "mtls" else egress
        self._auth, self._secret, self._base_url = auth, secret, base_url
        self._now: Callable[[], datetime] = egress.now
        self._tokens: TokenSource | None = None
        if auth == "gcp-service-account":
            auth = GcpServiceAccount()  # the name alone stands for the default settings of the scheme
        if isinstance(auth, OAuth2 | GcpServiceAccount):
            self._tokens = TokenSource(auth, secret, egress, timeout_s)

    @property
    def sent_secrets(self) -> tuple[str, ...]:
        """Secret texts that a service receives and may repeat; they are removed from messages and answers."""
        if self._tokens is not None:
            return (self._tokens.token,) if self._tokens.token else ()
        if self._auth == "basic":
            return (self._secret, self._secret.partition(":")[2] or self._secret)  # and the password alone
        if isinstance(self._auth, AwsSigV4):
            keys = aws_keys(self._secret)
            return (keys.secret_key, *([keys.session_token] if keys.session_token else []))
        return () if self._auth in {"mtls", "none"} else (self._secret,)

    async def authenticate(self, request: OutgoingRequest) -> OutgoingRequest:
        """Return a copy of a request with authentication; raise `CallFailed` if no token is available."""
        if self._tokens is not None:
            return _with_headers(request, {"Authorization": f"Bearer {await self._tokens.current()}"})
        match self._auth:
            case "bearer":
                return _with_headers(request, {"Authorization": f"Bearer {self._secret}"})
            case "basic":
                user_and_password = base64.b64encode(self._secret.encode()).decode()
                return _with_headers(request, {"Authorization": f"Basic {user_and_password}"})
            case Placed() as placement:
                return _place_secret(request, placement, fill_text(placement.value, {"secret": self._secret}))
            case AwsSigV4() as aws:
                signature_headers = signed_headers(
                    request.method,
                    request.url,
                    request.headers,
                    request.content,
                    keys=aws_keys(self._secret),
                    region=aws.region_of(self._base_url),
                    service=aws.service,
                    now=self._now(),
                )
                return _with_headers(request, signature_headers)
            case _:
                return request

    def renew(self, refused_request: OutgoingRequest, failure: CallFailed) -> bool:
        """Drop the token of a refused request; return whether the call may succeed with a new token."""
        if self._tokens is None or failure.status != 401:
            return False
        self._tokens.refuse(refused_request.headers["Authorization"].removeprefix("Bearer "))
        return True


def _with_headers(request: OutgoingRequest, headers: Mapping[str, str]) -> OutgoingRequest:
    return replace(request, headers={**request.headers, **headers})


def _place_secret(request: OutgoingRequest, placement: Placed, secret_text: str) -> OutgoingRequest:
    """Return a request with the secret in a header, a query parameter or a field of the body."""
    named_secret = {placement.name: secret_text}
    if placement.type == "header":
        return _with_headers(request, named_secret)
    if placement.type == "query":
        separator = "&" if "?" in request.url else "?"
        # UTF-8 cannot encode lone surrogates, which a name in JSON may hold
        return replace(request, url=f"{request.url}{separator}{urlencode(named_secret, errors='replace')}")
    if not request.content:
        return request  # a request without a body, such as that for the languages, needs no key in its body
    if "json" not in request.headers.get("Content-Type", ""):
        return replace(request, content=b"&".join([request.content, urlencode(named_secret).encode("ascii")]))
    body = json.loads(request.content)
    if not isinstance(body, dict):
        raise CallFailed("unsupported", "the secret can be put in a body only if that is an object")
    return replace(request, content=json.dumps({**body, **named_secret}).encode("ascii"))


ALGORITHM = "AWS4-HMAC-SHA256"


def signed_headers(
    method: str,
    url: str,
    headers: Mapping[str, str],
    content: bytes,
    *,
    keys: AwsKeys,
    region: str,
    service: str,
    now: datetime,
) -> dict[str, str]:
    """Return the headers that authenticate a request: ``Authorization``, ``X-Amz-Date`` and a session token.

    The host, the content type and all headers ``x-amz-*`` are signed. As AWS requires for all services but S3, the
    signed path is percent-encoded once more than in the request.

    `url` has its query, percent-encoded. `now` has a time zone; AWS accepts a difference of five minutes.
    """
    timestamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    added_headers = {"X-Amz-Date": timestamp}
    if keys.session_token:
        added_headers["X-Amz-Security-Token"] = keys.session_token
    address = urlsplit(url)
    host = address.netloc.removesuffix({"http": ":80", "https": ":443"}[address.scheme])
    all_headers = {**headers, **added_headers, "Host": host}
    values_by_name = {name.lower(): " ".join(value.split()) for name, value in all_headers.items()}
    signed_names = [name for name in sorted(values_by_name) if name in {"host", "content-type"} or name[:6] == "x-amz-"]
    joined_names = ";".join(signed_names)
    canonical_request = "\n".join(
        [
            method,
            quote(address.path or "/", safe="/-_.~"),
            _canonical_query(address.query),
            *(f"{name}:{values_by_name[name]}" for name in signed_names),
            "",
            joined_names,
            hashlib.sha256(content).hexdigest(),
        ]
    )
    scope = f"{timestamp[:8]}/{region}/{service}/aws4_request"
    text_to_sign = "\n".join([ALGORITHM, timestamp, scope, hashlib.sha256(canonical_request.encode()).hexdigest()])
    key = f"AWS4{keys.secret_key}".encode()
    for part in scope.split("/"):  # the signing key is derived from the secret key part by part
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text_to_sign.encode(), "sha256").hex()
    credential = f"{ALGORITHM} Credential={keys.key_id}/{scope}, SignedHeaders={joined_names}, Signature={signature}"
    return {**added_headers, "Authorization": credential}


def _canonical_query(query: str) -> str:
    """Return a query as AWS signs it: sorted, and percent-encoded in one way."""
    pairs = [[quote(text, safe="-_.~") for text in pair] for pair in parse_qsl(query, keep_blank_values=True)]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))
