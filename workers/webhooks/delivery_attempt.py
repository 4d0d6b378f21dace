"""Delivery attempt of a webhook: one call, and the decision about the next attempt."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import numpy as np

from store.core.settings import Settings
from store.webhooks.deliveries import Next, Outcome
from workers.egress import AGENT, CallFailed, GuardedTransport, parse_retry_after
from workers.egress.calls import request_target_of
from workers.egress.guard import origin_of

TIMEOUT_S = 15.0
"""Timeout of an attempt in seconds, from name resolution to the last byte."""

RESPONSE_CAP = 2048
"""Maximum number of bytes of a response that are read and stored."""

SCHEDULE_S = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds before each attempt, counted from the failure of the previous attempt (Standard Webhooks 1.0)."""

CHALLENGE_ATTEMPTS = 3
"""Number of attempts of a challenge, after which its endpoint is disabled."""

JITTER = 0.2
"""Maximum jitter of a delay, as a share of the delay."""

OVERLOADED = frozenset({429, 502, 504})
"""HTTP statuses of an overloaded receiver or its proxy."""

REST_S = 60.0
"""Pause in seconds for an overloaded receiver without ``Retry-After``."""

LONGEST_REST_S = 86_400.0
"""Maximum pause in seconds, even if ``Retry-After`` asks for more."""

GONE = 410


@dataclass(frozen=True)
class AttemptResult:
    """Result of a call: outcome to store, ``Retry-After`` in seconds; `final` if further attempts are useless."""

    outcome: Outcome
    retry_after_s: float | None = None
    final: bool = False


def open_transport(settings: Settings) -> GuardedTransport:
    """Open a guarded HTTP transport for webhooks; it truncates long responses instead of refusing them."""
    networks, exempt = settings.egress_networks, settings.exempt_networks
    return GuardedTransport(networks, response_cap=RESPONSE_CAP, refuses_long=False, exempt=exempt)


async def call(
    transport: GuardedTransport, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float = TIMEOUT_S
) -> AttemptResult:
    """Post a body to a receiver; errors, and any status but 2xx (even a redirect), are a failure in the result."""
    start = asyncio.get_running_loop().time()

    def outcome(status: int | None, failure: str | None, response: str | None = None) -> Outcome:
        return Outcome(round((asyncio.get_running_loop().time() - start) * 1000), status, failure, response)

    default_headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
    request_target = request_target_of(url)
    if request_target is None:
        return AttemptResult(outcome(status=None, failure="unsupported: the address cannot be written into a request"))
    try:
        async with asyncio.timeout(timeout_s):
            all_headers = {**default_headers, **headers}
            http_response = await transport.ask(origin_of(url), "POST", request_target, all_headers, body)
    except CallFailed as failed:
        return AttemptResult(outcome(failed.status, f"{failed.code}: {failed.message}"))
    except TimeoutError:
        return AttemptResult(outcome(status=None, failure=f"timeout: no whole answer within {timeout_s:g} s"))
    response_headers = httpx.Headers(http_response.headers)
    text = None if "content-encoding" in response_headers else http_response.body.decode("utf-8", "replace")
    failure = _failure_of_status(http_response.status)
    retry_after_s = parse_retry_after(response_headers, datetime.now(UTC))
    return AttemptResult(outcome(http_response.status, failure, text), retry_after_s)


def decide_next(
    number: int, result: AttemptResult, rng: np.random.Generator, attempts: int = len(SCHEDULE_S)
) -> Next | None:
    """Return when to try again, or that it is useless, after attempt `number` (1 to `attempts`); ``None``: success."""
    status = result.outcome.status
    if result.outcome.failure is None:
        return None
    if status == GONE:
        return Next(delay_s=None, gone=True)
    if result.final or number >= attempts:
        return Next(delay_s=None)
    rest_s = 0.0  # during which the receiver gets no delivery at all
    if status in OVERLOADED or result.retry_after_s is not None:
        rest_s = min(REST_S if result.retry_after_s is None else result.retry_after_s, LONGEST_REST_S)
    scheduled_s = SCHEDULE_S[number] * float(rng.uniform(1, 1 + JITTER))  # the index of the next attempt is `number`
    return Next(delay_s=max(scheduled_s, rest_s), rest_s=rest_s)


def _failure_of_status(status: int) -> str | None:
    """Return the failure code and message for an HTTP status; ``None`` for 2xx."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"redirect: it answered HTTP {status}; redirects are not followed, so give the address it leads to"
    if status == GONE:
        return "gone: it answered HTTP 410, so it is told nothing more"
    return f"http-{status}: it answered HTTP {status}"
