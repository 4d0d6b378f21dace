"""A target's credentials: they write its secret, a signature or a token into each of its requests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from workers.egress import CallFailed, Egress
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
)
from workers.targets.auth.tokens import TokenSource
from workers.targets.protocols.custom.templates import fill_text


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """HTTP request with its whole address. Parts that may hold a secret are not shown."""

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
            auth = GcpServiceAccount()
        if isinstance(auth, OAuth2 | GcpServiceAccount):
            self._tokens = TokenSource(auth, secret, egress, timeout_s)

    @property
    def spoken(self) -> tuple[str, ...]:
        """Secret texts that a service receives or could return; they must not appear in messages and answers."""
        if self._tokens is not None:
            return (self._tokens.token,) if self._tokens.token else ()
        if self._auth == "basic":
            return (self._secret, self._secret.partition(":")[2] or self._secret)
        if isinstance(self._auth, AwsSigV4):
            keys = aws_keys(self._secret)
            return (keys.secret_key, *([keys.session_token] if keys.session_token else []))
        return () if self._auth in {"mtls", "none"} else (self._secret,)

    async def authenticate(self, request: OutgoingRequest) -> OutgoingRequest:
        """Return a request with its authentication; raise `CallFailed` if no token is available."""
        if self._tokens is not None:
            return _with_headers(request, {"Authorization": f"Bearer {await self._tokens.current()}"})
        match self._auth:
            case "bearer":
                return _with_headers(request, {"Authorization": f"Bearer {self._secret}"})
            case "basic":
                pair = base64.b64encode(self._secret.encode()).decode()
                return _with_headers(request, {"Authorization": f"Basic {pair}"})
            case Placed() as placed:
                return _placed(request, placed, fill_text(placed.value, {"secret": self._secret}))
            case AwsSigV4() as aws:
                signed = signed_headers(
                    request.method,
                    request.url,
                    request.headers,
                    request.content,
                    keys=aws_keys(self._secret),
                    region=aws.region_of(self._base_url),
                    service=aws.service,
                    now=self._now(),
                )
                return _with_headers(request, signed)
            case _:
                return request

    def renew(self, refused: OutgoingRequest, failed: CallFailed) -> bool:
        """Drop a refused token; return whether the call may succeed with a new one."""
        if self._tokens is None or failed.status != 401:
            return False
        self._tokens.refuse(refused.headers["Authorization"].removeprefix("Bearer "))
        return True


def _with_headers(request: OutgoingRequest, headers: Mapping[str, str]) -> OutgoingRequest:
    return replace(request, headers={**request.headers, **headers})


def _placed(request: OutgoingRequest, placed: Placed, value: str) -> OutgoingRequest:
    entry = {placed.name: value}
    if placed.type == "header":
        return _with_headers(request, entry)
    if placed.type == "query":
        mark = "&" if "?" in request.url else "?"
        return replace(request, url=f"{request.url}{mark}{urlencode(entry, errors='replace')}")
    if not request.content:
        return request  # a request without a body, such as that for the languages, needs no key in its body
    if "json" not in request.headers.get("Content-Type", ""):
        return replace(request, content=b"&".join([request.content, urlencode(entry).encode("ascii")]))
    body = json.loads(request.content)
    if not isinstance(body, dict):
        raise CallFailed("unsupported", "the secret can be put in a body only if that is an object")
    return replace(request, content=json.dumps({**body, **entry}).encode("ascii"))


# ------------------------------------------------------------------------------- AWS Signature Version 4
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

    Parameters
    ----------
    url : str
        Address with its query, percent-encoded.
    now : datetime
        Time with a zone; AWS accepts a difference of five minutes.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    added = {"X-Amz-Date": moment}
    if keys.session_token:
        added["X-Amz-Security-Token"] = keys.session_token
    address = urlsplit(url)
    host = address.netloc.removesuffix({"http": ":80", "https": ":443"}[address.scheme])
    lower = {name.lower(): " ".join(value.split()) for name, value in {**headers, **added, "Host": host}.items()}
    signed = {name: lower[name] for name in sorted(lower) if name in {"host", "content-type"} or name[:6] == "x-amz-"}
    names = ";".join(signed)
    canonical = "\n".join(
        [
            method,
            quote(address.path or "/", safe="/-_.~"),
            _canonical_query(address.query),
            *(f"{name}:{value}" for name, value in signed.items()),
            "",
            names,
            hashlib.sha256(content).hexdigest(),
        ]
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    to_sign = "\n".join([ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{keys.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    credential = f"{ALGORITHM} Credential={keys.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**added, "Authorization": credential}


def _canonical_query(query: str) -> str:
    pairs = [
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))
