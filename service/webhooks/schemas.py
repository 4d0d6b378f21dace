"""Endpoints that are told what happens, what was sent to them, and what they are sent."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from service.http.openapi.common_schemas import Asked, Instant, Told, Url, instant, maybe_instant
from service.http.pagination import PageQuery
from service.targets.schemas import hint
from store.security.signing import PublicKey
from store.webhooks.delivery_log import Attempt, Delivery
from store.webhooks.webhooks import Webhook

EventType = Literal[
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "rating.published",
    "rating.changed",
    "rating.expiring",
    "rating.withdrawn",
]
Envelope = Literal["standard", "cloudevents"]
DeliveryState = Literal["waiting", "delivered", "given-up"]

PUBLIC_PREFIX = "whpk_"


class WebhookDescription(Asked):
    """An endpoint to be told, and of what."""

    url: Url
    """Where notices are posted to. It answers 2xx within 15 seconds; redirects are not followed."""
    description: Annotated[str, Field(max_length=200)] = ""
    """What it is for."""
    events: Annotated[list[EventType], Field(max_length=20, default_factory=list)]
    """Types of notice it wants; empty means all, also those that are invented later."""
    envelope: Envelope = "standard"
    """`standard` is `{type, timestamp, data}`; `cloudevents` is CloudEvents 1.0 in structured mode."""


class WebhookView(Told):
    """An endpoint. Of its secret, only the last characters are shown."""

    id: str
    url: str
    description: str
    events: list[str]
    envelope: Envelope
    state: Literal["enabled", "disabled"]
    disabled_why: str | None
    """`gone` (it answered 410) or `failing` (for five days); null while it is enabled."""
    failing_since: Instant | None
    """When the first attempt failed of those that have failed without a success since."""
    secret_hint: Annotated[str | None, Field(examples=["…pJY="])]
    previous_secret_until: Instant | None
    """Until when the secret before the last rotation signs too."""
    public_key: Annotated[str | None, Field(examples=["whpk_S+reKyM0MLlxi6rOzw/gUcsiogtteaWp/FrYc4ji9zw="])]
    """The agency's key that `v1a` signatures are checked with."""
    created_at: Instant
    updated_at: Instant
    links: dict[str, str]

    @classmethod
    def of(cls, row: Webhook, key: PublicKey | None) -> Self:
        """Show an endpoint; `key` is the one that the agency signs with."""
        here = f"/v1/webhooks/{row.id}"
        return cls(
            id=row.id,
            url=row.url,
            description=row.description,
            events=list(row.events),
            envelope=row.envelope,
            state=row.state,
            disabled_why=row.disabled_why,
            failing_since=maybe_instant(row.failing_since),
            secret_hint=hint(row.sealed_secret.last4),
            previous_secret_until=maybe_instant(row.previous_until),
            public_key=None if key is None else PUBLIC_PREFIX + base64.b64encode(key.public_key).decode(),
            created_at=instant(row.created_at),
            updated_at=instant(row.updated_at),
            links={"self": here, "deliveries": f"{here}/deliveries"},
        )


class NewWebhookView(WebhookView):
    """An endpoint with its new secret, which is shown in this answer only."""

    secret: Annotated[str | None, Field(examples=["whsec_Y66dOYFCp9hMSbc7ovZnyNN3zreDLbabGkFhM1YupJY="])]
    """What `v1` signatures are checked with. Null in a repeated answer if there is a newer one by now."""


class WebhookList(Told):
    """One page of endpoints, newest first."""

    items: list[WebhookView]
    next_cursor: str | None


class DeliveryLine(Told):
    """A notice on its way to a receiver."""

    id: str
    """The `webhook-id` of every attempt."""
    type: str
    state: DeliveryState
    attempts: int
    """Made so far."""
    created_at: Instant
    next_attempt_at: Instant | None
    """When it is attempted (again); null once it has ended."""
    ended_at: Instant | None
    href: str

    @classmethod
    def of(cls, row: Delivery, under: str) -> Self:
        """Show a delivery; `under` is the address of what it belongs to."""
        return cls(**_line(row, under))


class AttemptView(Told):
    """One attempt, and what was answered."""

    number: int
    at: Instant
    elapsed_ms: int
    status: int | None
    """What was answered; null where nothing was."""
    failure: str | None
    """Why it did not succeed; null is success."""
    response: str | None
    """The first 2,048 bytes of the answer."""

    @classmethod
    def of(cls, attempt: Attempt) -> Self:
        """Show an attempt."""
        return cls(**vars(attempt) | {"at": instant(attempt.at)})


class DeliveryView(DeliveryLine):
    """A delivery with what is sent and every attempt."""

    url: str
    payload: dict[str, Any]
    tries: list[AttemptView]

    @classmethod
    def whole(cls, row: Delivery, under: str, attempts: Sequence[Attempt]) -> Self:
        """Show a delivery and its attempts."""
        tries = [AttemptView.of(one) for one in attempts]
        return cls(**_line(row, under), url=row.url, payload=row.payload, tries=tries)


class DeliveryList(Told):
    """One page of deliveries, newest first."""

    items: list[DeliveryLine]
    next_cursor: str | None


class DeliveryQuery(PageQuery):
    """What the list of deliveries is narrowed to."""

    state: DeliveryState | None = None


def _line(row: Delivery, under: str) -> dict[str, Any]:
    waits = row.state == "waiting"
    return {
        "id": row.id,
        "type": row.type,
        "state": row.state,
        "attempts": row.attempts,
        "created_at": instant(row.created_at),
        "next_attempt_at": instant(row.next_attempt_at) if waits else None,
        "ended_at": maybe_instant(row.ended_at),
        "href": f"{under}/deliveries/{row.id}",
    }
