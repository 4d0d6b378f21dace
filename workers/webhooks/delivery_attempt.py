"""One attempt at a delivery: one call, and what follows from its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import numpy as np

from assay import __version__
from store.core.settings import Settings
from store.webhooks.deliveries import Next, Outcome
from workers.egress import CallFailed, GuardedTransport, parse_retry_after

TIMEOUT_S = 15.0
"""Seconds for a whole attempt, from resolving the name to the last byte."""

RESPONSE_CAP = 2048
"""Bytes of an answer that are read and kept."""

SCHEDULE_S = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds before each attempt, counted from the failure of the one before (Standard Webhooks 1.0)."""

JITTER = 0.2
"""Most that is added to a delay, as a share of it: receivers that failed together do not return together."""

OVERLOADED = frozenset({429, 502, 504})
"""Statuses by which a receiver, or what stands before it, says that it has too much to do."""

REST_S = 60.0
"""Seconds for which an overloaded receiver that does not say how long it needs gets nothing."""

LONGEST_REST_S = 86_400.0
"""Longest rest that is granted, whatever ``Retry-After`` says."""

GONE = 410


@dataclass(frozen=True)
class Answered:
    """What came of a call: the outcome as it is kept, and how long the receiver asked us to wait (seconds)."""

    outcome: Outcome
    retry_after_s: float | None = None


def open_transport(settings: Settings) -> GuardedTransport:
    """Open the way to receivers: the guard of targets, and long answers cut instead of refused."""
    return GuardedTransport(settings.egress_networks, response_cap=RESPONSE_CAP, whole=False)


async def call(
    transport: GuardedTransport, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float = TIMEOUT_S
) -> Answered:
    """Post a body to a receiver. Only a 2xx is a success; redirects are not followed.

    Parameters
    ----------
    transport : GuardedTransport
        As of `open_transport`.
    url : str
        The receiver.
    headers : mapping
        Those of this message; how we introduce ourselves is added.
    body : bytes
        What was signed.
    timeout_s : float
        Seconds for everything.
    """
    began = asyncio.get_running_loop().time()

    def outcome(status: int | None, failure: str | None, response: str | None = None) -> Outcome:
        elapsed_s = asyncio.get_running_loop().time() - began
        return Outcome(round(elapsed_s * 1000), status, failure, response)

    standing = {"User-Agent": f"assay/{__version__}", "Accept-Encoding": "identity"}
    try:
        request = httpx.Request("POST", url, headers={**standing, **headers}, content=body)
        async with asyncio.timeout(timeout_s):
            received = await transport.call(request)
    except CallFailed as failed:
        return Answered(outcome(failed.status, f"{failed.code}: {failed.message}"))
    except TimeoutError:
        return Answered(outcome(None, f"timeout: no whole answer within {timeout_s:g} s"))
    except httpx.InvalidURL:
        return Answered(outcome(None, "unsupported: the address cannot be written into a request"))
    heard = httpx.Headers(received.headers)
    shown = None if "content-encoding" in heard else received.body.decode("utf-8", "replace")
    failure = _failure(received.status)
    return Answered(outcome(received.status, failure, shown), parse_retry_after(heard, datetime.now(UTC)))


def what_follows(number: int, answered: Answered, rng: np.random.Generator) -> Next | None:
    """Decide what is done after an attempt.

    Parameters
    ----------
    number : int
        Of the attempt, from 1.
    answered : Answered
        What came of it.
    rng : Generator
        Spreads the delays.

    Returns
    -------
    Next or None
        ``None`` after a success.
    """
    status = answered.outcome.status
    if answered.outcome.failure is None:
        return None
    if status == GONE:
        return Next(None, gone=True)
    rest_s = 0.0
    if status in OVERLOADED or answered.retry_after_s is not None:
        rest_s = min(REST_S if answered.retry_after_s is None else answered.retry_after_s, LONGEST_REST_S)
    if number >= len(SCHEDULE_S):
        return Next(None, rest_s)
    return Next(max(SCHEDULE_S[number] * float(rng.uniform(1, 1 + JITTER)), rest_s), rest_s)


def _failure(status: int) -> str | None:
    """Say why a status is no success."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"redirect: it answered HTTP {status}; redirects are not followed, so give the address it leads to"
    if status == GONE:
        return "gone: it answered HTTP 410, so it is told nothing more"
    return f"http-{status}: it answered HTTP {status}"
