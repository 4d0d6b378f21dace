"""Tables of saved targets, and of hosts and their owners."""

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, LargeBinary, UniqueConstraint

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, define_table

targets = define_table(
    "targets",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", "kind", "protocol", "base_url", settings=Json, limits=Json),
    Column("visibility", AnyText, nullable=False),
    *optional(LargeBinary, "secret_ciphertext", "secret_nonce", secret_key_id=AnyText, secret_last4=AnyText),
    *required(version=Integer, created_at=BigInteger, updated_at=BigInteger),
    Column("removed_at", BigInteger),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("name", "base_url", "settings", "limits", "secret_ciphertext")},
)

domains = define_table(
    "domains",
    Column("id", AnyText, primary_key=True),
    Column("tenant", AnyText, nullable=False),
    Column("host", AnyText, nullable=False),  # includes the port, unless it is the scheme's default
    *required(AnyText, "token", "state"),
    *optional(checked_at=BigInteger, failure=AnyText, verified_at=BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("ratings", AnyText, nullable=False, server_default="allowed"),
    UniqueConstraint("tenant", "host"),
    CheckConstraint("state IN ('waiting', 'verified', 'failed')", name="state_is_known"),
    CheckConstraint("ratings IN ('allowed', 'refused')", name="ratings_are_known"),
    Index(None, "tenant", "created_at", "id"),
    Index(None, "host"),
    info={"counted": ("host",)},
)

refusal_files = define_table(
    "refusal_files",
    Column("url", AnyText, primary_key=True),
    Column("refuses", Boolean),  # NULL if the file could never be read
    Column("read_at", BigInteger, nullable=False),  # 0 if the file could never be read
    Column("retry_at", BigInteger),  # time of the next attempt after a failure; NULL after a success
    Column("failures", Integer, nullable=False, server_default="0"),
)
