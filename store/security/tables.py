"""Tables of keys, sessions, drafts of forms and signing keys."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, Table, UniqueConstraint

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, metadata

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", "short"),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    *optional(BigInteger, "expires_at", "revoked_at", "last_used_at"),
    UniqueConstraint("short"),
    Index(None, "tenant", "created_at", "id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", LargeBinary, primary_key=True),  # digest of the token; the token itself is not stored
    Column("key_id", AnyText, ForeignKey("api_keys.id")),  # NULL if a person signed in with an account; then:
    *optional(AnyText, "rule", "subject"),
    *required(BigInteger, "seen_at", "expires_at"),
    Index(None, "key_id", "expires_at"),
    Index(None, "subject", "rule", "expires_at"),
    Index(None, "expires_at"),
    Index(None, "seen_at"),
)

drafts = Table(
    "drafts",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "key_id"),
    *required(LargeBinary, "ciphertext", "nonce"),
    Column("expires_at", BigInteger, nullable=False),
    Index(None, "tenant", "expires_at"),
    Index(None, "expires_at"),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("id", AnyText, primary_key=True),  # RFC 7638 thumbprint of the public key
    Column("public_key", LargeBinary, nullable=False),  # 32 bytes of an Ed25519 key
    # these four columns are empty if the private key is outside the database
    *required(LargeBinary, "secret_ciphertext", "secret_nonce"),
    *required(AnyText, "secret_key_id", "secret_last4"),
    Column("created_at", BigInteger, nullable=False),
    Column("retired_at", BigInteger),  # time from which the key signs nothing new; its signatures stay valid
)
