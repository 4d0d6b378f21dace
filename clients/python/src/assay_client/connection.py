"""Settings of the HTTP connection; all come from arguments, none from the environment."""

from __future__ import annotations

from typing import TypedDict

import httpx

from assay_client.documents import RatingOptions

DEFAULT_TIMEOUT_S = 60.0
USER_AGENT = "assay-client"


class RateOptions(RatingOptions, total=False):
    """Options of `Client.rate`: the optional fields of the request, and two arguments of the client itself."""

    timeout_s: float | None
    idempotency_key: str | None


class Options(TypedDict):
    """Arguments that `httpx.Client` and `httpx.AsyncClient` share."""

    base_url: httpx.URL
    headers: dict[str, str]
    timeout: float
    trust_env: bool


def options(base_url: str, key: str | None, timeout_s: float) -> Options:
    """Return the arguments for an httpx client.

    Proxies of the environment are ignored, so that the key is sent to `base_url` only. (Pass a transport
    to use a proxy.)

    Raises
    ------
    ValueError
        If the address is not an http(s) address, or the key is not one line of visible characters.
    """
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"{base_url!r} is not an address: {error}") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError(f"{base_url!r} is not the address of an agency; it looks like http://127.0.0.1:8000")
    headers = {"Accept": "application/json, */*;q=0.5", "User-Agent": USER_AGENT}
    if key is not None:
        if not key.isascii() or not key.isprintable() or not key.strip():
            # the message does not contain the key
            raise ValueError("the key is not one line of visible ASCII characters")
        headers["Authorization"] = f"Bearer {key.strip()}"
    return Options(base_url=url, headers=headers, timeout=timeout_s, trust_env=False)
