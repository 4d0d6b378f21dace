"""Tables of webhook endpoints and deliveries; `outbox` has the notices, written in the transaction that caused them."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, UniqueConstraint

from migrations.columns import optional, required
from store.core.columns import AnyText, Counted, Json, define_table

webhooks = define_table(
    "webhooks",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "url", "description"),
    Column("events", Json, nullable=False),  # subscribed event types; an empty list means all
    *required(AnyText, "envelope", "state"),
    Column("disabled_why", AnyText),
    *optional(BigInteger, "failing_since", "confirmed_at"),  # confirmed_at: NULL until it has answered a challenge
    *required(LargeBinary, "secret_ciphertext", "secret_nonce", secret_key_id=AnyText, secret_last4=AnyText),
    *optional(LargeBinary, "previous_ciphertext", "previous_nonce", previous_key_id=AnyText),
    Column("previous_until", BigInteger),
    *required(version=Integer, created_at=BigInteger, updated_at=BigInteger),
    Column("removed_at", BigInteger),
    CheckConstraint("envelope IN ('standard', 'cloudevents')", name="envelope_is_known"),
    CheckConstraint("state IN ('enabled', 'disabled')", name="state_is_known"),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("url", "description", "events")},
)

outbox = define_table(
    "outbox",
    Column("id", Counted, primary_key=True, autoincrement=True),
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    *required(kind=AnyText, payload=Json, created_at=BigInteger, next_attempt_at=BigInteger, attempts=Integer),
    Column("delivered_at", BigInteger),
    Column("state", AnyText, nullable=False),
    UniqueConstraint("job_id", "kind"),
    CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="state_is_known"),
    Index(None, "state", "next_attempt_at"),
    sqlite_autoincrement=True,
)

deliveries = define_table(
    "deliveries",
    Column("id", AnyText, primary_key=True),  # sent as the header webhook-id, the same for every attempt
    Column("tenant", AnyText, nullable=False),
    Column("webhook_id", AnyText),  # NULL for a delivery to a job's callback_url
    Column("outbox_id", BigInteger),  # NULL for a ping
    *required(AnyText, "url", "type", payload=Json, state=AnyText, attempts=Integer),
    *required(BigInteger, "created_at", "next_attempt_at"),
    *optional(BigInteger, "lease_until", "ended_at"),
    UniqueConstraint("outbox_id", "webhook_id"),
    CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="state_is_known"),
    Index(None, "state", "next_attempt_at"),
    Index(None, "webhook_id", "created_at", "id"),
    Index(None, "tenant", "created_at", "id"),
)

delivery_attempts = define_table(
    "delivery_attempts",
    Column("delivery_id", AnyText, ForeignKey("deliveries.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    *required(at=BigInteger, elapsed_ms=Integer),
    Column("status", Integer),  # NULL if there was no response
    Column("failure", AnyText),
    Column("response", AnyText),  # the first 2 kB of the response
)
