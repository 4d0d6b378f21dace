"""WebhookWorker: turns notices into one delivery per receiver, and makes the delivery attempts that are due.

Attempts are leased in the database, so any number of processes may deliver. If a process dies, another repeats
its attempts when their leases have expired. Notices are signed as Standard Webhooks 1.0 over ``id.timestamp.body``:
``v1`` is an HMAC with a secret shared with the receiver, ``v1a`` an Ed25519 signature with the agency's key.
"""

import asyncio
import base64
import hmac
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import numpy as np
import structlog

from assay.experiment import generator
from store.core.errors import RatingsRefused, SecretLost, SecretMoved, SigningUnavailable, StoreUnavailable
from store.security import signing
from store.security.signing import SigningKey
from store.webhooks import callbacks, deliveries, fan_out, webhooks
from store.webhooks.deliveries import ClaimedDelivery, Outcome
from store.webhooks.fan_out import body_of, content_type_of
from store.webhooks.webhooks import CHALLENGE, SECRET_PREFIX
from workers.calls.host_limits import HostLimits
from workers.calls.limits import Traffic
from workers.egress import CallFailed, GuardedTransport
from workers.egress.guard import origin_of
from workers.engine.worker_context import BackgroundThread, WorkerContext
from workers.webhooks.delivery_attempt import (
    CHALLENGE_ATTEMPTS,
    SCHEDULE_S,
    TIMEOUT_S,
    AttemptResult,
    call,
    decide_next,
    open_transport,
)

log = structlog.get_logger()

MOST_AT_ONCE = 64
"""Maximum number of concurrent attempts in one process."""

GRACE_S = 3.0
"""Seconds that running attempts may take after the worker is closed."""

REST_S = 5.0
"""Pause in seconds after an error, such as an unavailable database or signing key."""

TIDY_EVERY_S = 3600

TURN_S = 20.0
"""Seconds that an attempt waits for a slot at its host; then it is postponed, before its lease expires."""


class WebhookWorker(BackgroundThread):
    """Thread that delivers webhook notices in its own event loop."""

    name = "deliverer"

    def __init__(self, context: WorkerContext, rng: np.random.Generator | None = None) -> None:
        super().__init__()
        self._database, self._vault, self._settings = context.database, context.vault, context.settings
        self._meter, self._traffic = context.meter, context.traffic
        self._rng = rng or generator(int.from_bytes(os.urandom(8)))
        self._next_cleanup_s = 0.0
        self.join_s = 2 * GRACE_S + context.settings.webhook_poll_s  # how long `close` waits for the thread

    def run(self) -> None:
        """Deliver until closed; attempts that do not end in time are repeated by another process."""
        asyncio.run(self._run_loop())

    async def _run_loop(self) -> None:
        """Start due attempts until closed, at most `MOST_AT_ONCE` at once; then wait up to `GRACE_S` for their end."""
        transport, tasks = open_transport(self._settings), set[asyncio.Task[None]]()
        async with self._traffic() as traffic:
            try:
                while not self._done.is_set():
                    claims = await self._claim_or_rest(MOST_AT_ONCE - len(tasks))
                    attempts = (self._deliver(transport, traffic, delivery, key) for delivery, key in claims)
                    tasks |= set(map(asyncio.create_task, attempts))
                    tasks = await self._wait_for_end(tasks, self._settings.webhook_poll_s)
                await self._wait_for_end(tasks, GRACE_S, until=asyncio.ALL_COMPLETED)
            finally:
                await transport.aclose()

    async def _claim_or_rest(self, free_places: int) -> list[tuple[ClaimedDelivery, SigningKey]]:
        """Claim at most `free_places` of the attempts that are due; after an error, pause and return none."""
        try:
            return await asyncio.to_thread(self._claim_due, free_places)
        except (StoreUnavailable, SecretLost, SecretMoved, SigningUnavailable) as unable:
            log.warning("deliverer waits", why=str(unable))
        except Exception:  # an error must not stop all deliveries
            log.exception("deliverer failed")
        await asyncio.to_thread(self._done.wait, REST_S)
        return []

    async def _wait_for_end(
        self, tasks: set[asyncio.Task[None]], seconds: float, until: str = asyncio.FIRST_COMPLETED
    ) -> set[asyncio.Task[None]]:
        """Wait at most `seconds` for an attempt to end (or all, by `until`); return the attempts that still run."""
        if not tasks:
            await asyncio.to_thread(self._done.wait, seconds)
            return tasks
        ended_tasks, running = await asyncio.wait(tasks, timeout=seconds, return_when=until)
        for task in ended_tasks:
            if (error := task.exception()) is not None:
                log.error("delivery not recorded", exc_info=error)
        return running

    def _claim_due(self, free_places: int) -> list[tuple[ClaimedDelivery, SigningKey]]:
        """Create the deliveries of due notices and claim at most `free_places` due ones, each with the signing key."""
        self._delete_ended()
        with self._database.read() as connection:
            if not free_places or not deliveries.anything_due(connection):
                return []
        base_url = (self._settings.public_url or "").rstrip("/")
        notice_count = fan_out.BATCH
        while notice_count == fan_out.BATCH:  # after a full batch, more notices may be due
            with self._database.write() as connection:
                batch = fan_out.hand_over(connection, base_url)
            notice_count = batch.closed  # notices that were made into deliveries or given up
            for notice in batch.malformed:
                log.error("notice given up", why="its row has no notice", notice=notice.id, job=notice.job_id)
        with self._database.read() as connection:
            delivery_ids = deliveries.choose(connection, free_places)
        if not delivery_ids:
            return []
        with self._database.write() as connection:
            claims = deliveries.claim(connection, delivery_ids)
            confirmed_claims = callbacks.confirmed_deliveries(connection, claims, base_url)  # their hosts agreed
            if not confirmed_claims:
                return []
            key = signing.current(connection, self._vault)
            return [(delivery, key) for delivery in confirmed_claims]

    def _delete_ended(self) -> None:
        """Delete old deliveries, at most once in `TIDY_EVERY_S` seconds."""
        if time.monotonic() >= self._next_cleanup_s:
            with self._database.write() as connection:
                deliveries.delete_ended(connection)
            self._next_cleanup_s = time.monotonic() + TIDY_EVERY_S

    async def _deliver(
        self, transport: GuardedTransport, traffic: Traffic, delivery: ClaimedDelivery, key: SigningKey
    ) -> None:
        """Sign and post a delivery, and store the outcome; postpone it if its host's limits allow no call in time."""
        body = body_of(delivery.payload)
        try:
            # in a thread, because a key outside the database can block for seconds
            headers = await asyncio.to_thread(self._headers, delivery, body, key)
        except SigningUnavailable as unable:
            log.warning("delivery not signed", delivery=delivery.id, why=str(unable))
            reason = "signing-unavailable: the agency's key cannot sign now"
            attempt = AttemptResult(Outcome(elapsed_ms=0, failure=reason))
        except (SecretLost, SecretMoved):
            reason = "secret-lost: the endpoint's secret cannot be opened any more; rotate it"
            attempt = AttemptResult(Outcome(elapsed_ms=0, failure=reason))
        else:
            try:
                attempt = await self._post_within_limits(transport, traffic, delivery, headers, body)
            except TimeoutError:  # other calls and deliveries have used up the pace of the host
                await asyncio.to_thread(self._postpone, delivery)
                return
        await asyncio.to_thread(self._record_attempt, delivery, attempt)

    async def _post_within_limits(
        self,
        transport: GuardedTransport,
        traffic: Traffic,
        delivery: ClaimedDelivery,
        headers: dict[str, str],
        body: bytes,
    ) -> AttemptResult:
        """Post a delivery within its host's limits; raise `TimeoutError` if no slot is free within `TURN_S`."""
        limits = HostLimits(self._database, self._settings, delivery.tenant, delivery.id, traffic, self._rng)
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(TURN_S):
                    origin = origin_of(delivery.url)
                    if not await transport.exempt_hosts.holds(origin):  # exempt: without limits
                        addresses = await transport.exempt_hosts.addresses_of(origin)
                        await stack.enter_async_context(limits.slot(delivery.url, TIMEOUT_S, addresses))
                attempt = await call(transport, delivery.url, headers, body)
        except CallFailed as failed:
            failure = f"{failed.code}: {failed.message}"
            return AttemptResult(Outcome(elapsed_ms=0, status=failed.status, failure=failure))
        except RatingsRefused as refused:
            reason = f"refused: the host {refused.host} wants no calls ({refused.who}); verify it with POST /v1/domains"
            return AttemptResult(Outcome(elapsed_ms=0, failure=reason), final=True)
        outcome = attempt.outcome
        must_answer = delivery.type == CHALLENGE and not outcome.failure
        if not must_answer or fan_out.answers_challenge(delivery.payload, outcome.response):
            return attempt
        reason = "challenge: answer with the value of `challenge` as the whole body, or as JSON in a field of this name"
        return AttemptResult(replace(outcome, failure=reason))

    def _postpone(self, delivery: ClaimedDelivery) -> None:
        """Queue an unsent delivery again, due in 1 to 5 seconds."""
        try:
            with self._database.write() as connection:
                deliveries.postpone(connection, delivery, delay_s=float(self._rng.uniform(1, 5)))
        except StoreUnavailable as unavailable:  # the delivery is due again when its lease expires
            log.warning("delivery not postponed", delivery=delivery.id, why=str(unavailable))

    def _headers(self, delivery: ClaimedDelivery, body: bytes, key: SigningKey) -> dict[str, str]:
        """Return the headers with the signatures: by the agency's key, and by each valid secret of the endpoint."""
        secrets = []
        if (webhook := delivery.webhook) is not None:
            sealed_secrets = [webhook.sealed_secret]
            if webhook.previous_secret is not None and (webhook.previous_until or 0) > delivery.claimed_at:
                sealed_secrets.append(webhook.previous_secret)
            secrets = [webhooks.reveal(self._vault, sealed, webhook.tenant, webhook.id) for sealed in sealed_secrets]
        signature_headers = signed_headers(delivery.id, delivery.claimed_at // 1000, body, secrets, key.sign)
        return {"Content-Type": content_type_of(delivery.payload), **signature_headers}

    def _record_attempt(self, delivery: ClaimedDelivery, attempt: AttemptResult) -> None:
        """Store the outcome of an attempt and the decision about the next attempt; count the attempt in the metrics."""
        most_attempts = CHALLENGE_ATTEMPTS if delivery.type == CHALLENGE else len(SCHEDULE_S)
        next_step = decide_next(delivery.number, attempt, self._rng, most_attempts)
        try:
            with self._database.write() as connection:
                state = deliveries.record(connection, delivery, attempt.outcome, next_step) or "overtaken"
        except StoreUnavailable as unavailable:  # the delivery is sent again with the same id when its lease expires
            log.warning("delivery not recorded", delivery=delivery.id, why=str(unavailable))
            return
        self._meter.deliveries.labels(state).inc()  # "overtaken": the lease was lost, and another worker sends it
        log.info(
            "delivery attempted",
            delivery=delivery.id,
            webhook=None if delivery.webhook is None else delivery.webhook.id,
            number=delivery.number,
            status=attempt.outcome.status,
            left=state,
            elapsed_ms=attempt.outcome.elapsed_ms,
        )


def sign_with_secret(secret: str, message: bytes) -> str:
    """Return the signature of a message with a ``whsec_…`` secret: ``v1,`` and the base64 of HMAC-SHA256."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, message, "sha256")).decode()


def sign_with_key(sign: Callable[[bytes], bytes], message: bytes) -> str:
    """Return the signature of a message with an Ed25519 key: ``v1a,`` and the base64 of 64 bytes."""
    return "v1a," + base64.b64encode(sign(message)).decode()


def signed_headers(
    message_id: str, timestamp_s: int, body: bytes, secrets: Sequence[str], sign: Callable[[bytes], bytes]
) -> dict[str, str]:
    """Return the three headers of Standard Webhooks; `sign` signs with the agency's key.

    `message_id` is the same for every attempt, `timestamp_s` the time of this attempt in seconds since 1970; receivers
    refuse messages older than five minutes. `secrets` are all valid ``whsec_…`` secrets: two after a rotation, none for
    a ``callback_url``.
    """
    message = b"%s.%d.%s" % (message_id.encode(), timestamp_s, body)
    signatures = [*(sign_with_secret(secret, message) for secret in secrets), sign_with_key(sign, message)]
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp_s), "webhook-signature": " ".join(signatures)}
