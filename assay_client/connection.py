"""How a client is set up: everything comes from arguments, nothing from the environment."""

from __future__ import annotations

import uuid
from typing import Literal, TypedDict

import httpx

from assay_client.documents import (
    RatingRequest,
    RatingRequestExperiment,
    RatingRequestTarget,
    TargetDescription,
    TargetReference,
)

DEFAULT_TIMEOUT_S = 60.0
USER_AGENT = "assay-client"


class RatingOptions(TypedDict, total=False):
    """What may be said of a rating beside its target and its experiment; as in `RatingRequest`."""

    author: TargetDescription | TargetReference | None
    seed: int
    max_age_s: int | None
    visibility: Literal["private", "unlisted", "public"]
    callback_url: str | None
    deadline_s: int
    max_calls: int


class Options(TypedDict):
    """Arguments that `httpx.Client` and `httpx.AsyncClient` share."""

    base_url: httpx.URL
    headers: dict[str, str]
    timeout: float
    trust_env: bool


def options(base_url: str, key: str | None, timeout_s: float) -> Options:
    """Set up a client of httpx.

    Proxies of the environment are left aside: a key travels only where an argument says. (Pass a
    transport to use one.)

    Raises
    ------
    ValueError
        If the address is no http(s) address, or the key is not a line of visible characters.
    """
    url = httpx.URL(base_url)
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError(f"{base_url!r} is no address of an agency; it looks like http://127.0.0.1:8000")
    headers = {"Accept": "application/json, */*;q=0.5", "User-Agent": USER_AGENT}
    if key is not None:
        if not key.isascii() or not key.isprintable() or not key.strip():
            raise ValueError("the key is not one line of visible ASCII characters")  # never shows it
        headers["Authorization"] = f"Bearer {key.strip()}"
    return Options(base_url=url, headers=headers, timeout=timeout_s, trust_env=False)


def rating_request(
    target: RatingRequestTarget, experiment: RatingRequestExperiment, more: RatingOptions
) -> RatingRequest:
    """Put a request together."""
    return {"target": target, "experiment": experiment, **more}


def new_idempotency_key() -> str:
    """Make a key for one request, so that sending it again is safe."""
    return str(uuid.uuid4())
