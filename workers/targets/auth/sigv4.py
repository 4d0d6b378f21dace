"""AWS Signature Version 4 (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlsplit

from workers.targets.auth.schemes import AwsKeys

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
