"""Schemas of webhooks and deliveries."""

import base64
from typing import Annotated, Literal, Self

from pydantic import Field

from assay.document import JsonObject
from service.http.openapi.common_schemas import Instant, RequestModel, ResponseModel, Url
from service.http.rows import PageQuery
from service.targets.schemas import hint
from store.security.signing import PublicKey
from store.webhooks.delivery_log import Delivery
from store.webhooks.fan_out import Envelope
from store.webhooks.webhooks import EventType, Webhook

DeliveryState = Literal["waiting", "delivered", "given-up"]

PUBLIC_PREFIX = "whpk_"


class WebhookDescription(RequestModel):
    """An endpoint for notices, and the types of notice that it receives."""

    url: Url
    """Address to which notices are posted. It must answer 2xx within 15 seconds; redirects are not followed."""
    description: Annotated[str, Field(max_length=200)] = ""
    """Purpose, for people."""
    events: Annotated[list[EventType], Field(max_length=20, default_factory=list)]
    """Wanted types of notice; empty means all, including future types."""
    envelope: Envelope = "standard"
    """`standard` is `{type, timestamp, data}`; `cloudevents` is CloudEvents 1.0 in structured mode."""


class WebhookView(ResponseModel):
    """An endpoint. Only the last characters of its secret are shown."""

    id: str
    url: str
    description: str
    events: list[str]
    envelope: Envelope
    state: Literal["enabled", "disabled"]
    disabled_why: str | None
    """`gone` (it answered 410), `failing` (for five days) or `unconfirmed` (it did not answer its challenge); null if
    the endpoint is enabled."""
    confirmed_at: Instant | None
    """Time when the endpoint answered its challenge; until then it gets nothing else."""
    failing_since: Instant | None
    """Time of the first failed attempt since the last success; null if the last attempt succeeded."""
    secret_hint: Annotated[str | None, Field(examples=["…pJY="])]
    previous_secret_until: Instant | None
    """Time until which the previous secret signs too."""
    public_key: Annotated[str | None, Field(examples=["whpk_S+reKyM0MLlxi6rOzw/gUcsiogtteaWp/FrYc4ji9zw="])]
    """The agency's public key for `v1a` signatures."""
    created_at: Instant
    updated_at: Instant
    links: dict[str, str]

    @classmethod
    def of(cls, row: Webhook, key: PublicKey | None) -> Self:
        """Build the view of an endpoint; `key` is the agency's signing key, if it has one yet."""
        path = f"/v1/webhooks/{row.id}"
        return cls.from_row(
            row,
            secret_hint=hint(row.sealed_secret.last4),
            previous_secret_until=row.previous_until,
            public_key=None if key is None else PUBLIC_PREFIX + base64.b64encode(key.public_key).decode(),
            links={"self": path, "deliveries": f"{path}/deliveries"},
        )


class NewWebhookView(WebhookView):
    """An endpoint with its new secret, shown in this answer only."""

    secret: Annotated[str | None, Field(examples=["whsec_Y66dOYFCp9hMSbc7ovZnyNN3zreDLbabGkFhM1YupJY="])]
    """Secret for `v1` signatures. Null in a repeated answer if the secret has been replaced since."""


class DeliveryLine(ResponseModel):
    """A delivery of a notice to a receiver."""

    id: str
    """The `webhook-id` of every attempt."""
    type: str
    state: DeliveryState
    attempts: int
    """Number of attempts so far."""
    created_at: Instant
    next_attempt_at: Instant | None
    """Time of the next attempt; null if the delivery has ended."""
    ended_at: Instant | None
    href: str

    @classmethod
    def of(cls, row: Delivery, parent_address: str, **fields: object) -> Self:
        """Build the view of a delivery; `parent_address` is the address of its webhook or job."""
        next_at = row.next_attempt_at if row.state == "waiting" else None
        return cls.from_row(row, next_attempt_at=next_at, href=f"{parent_address}/deliveries/{row.id}", **fields)


class AttemptView(ResponseModel):
    """One attempt of a delivery, with its answer."""

    number: int
    at: Instant
    elapsed_ms: int
    status: int | None
    """HTTP status of the answer; null if there was no answer."""
    failure: str | None
    """Reason of the failure; null for a success."""
    response: str | None
    """The first 2,048 bytes of the answer."""


class DeliveryView(DeliveryLine):
    """A delivery with its payload and every attempt."""

    url: str
    payload: JsonObject
    tries: list[AttemptView]


class DeliveryQuery(PageQuery):
    """Filters of the list of deliveries."""

    state: DeliveryState | None = None
