"""Tables of keys, sessions, drafts of forms and signing keys."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, UniqueConstraint

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, define_table

api_keys = define_table(
    "api_keys",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", "short", digest=LargeBinary, scopes=Json, created_at=BigInteger),
    *optional(BigInteger, "expires_at", "revoked_at", "last_used_at"),
    UniqueConstraint("short"),
    Index(None, "tenant", "created_at", "id"),
)

sessions = define_table(
    "sessions",
    Column("digest", LargeBinary, primary_key=True),  # digest of the token; the token itself is not stored
    Column("key_id", AnyText, ForeignKey("api_keys.id")),  # NULL if a person signed in with an account; then:
    *optional(AnyText, "rule", "subject"),
    *required(BigInteger, "seen_at", "expires_at"),
    Index(None, "key_id", "expires_at"),
    Index(None, "subject", "rule", "expires_at"),
    Index(None, "expires_at"),
    Index(None, "seen_at"),
)

drafts = define_table(
    "drafts",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "key_id", ciphertext=LargeBinary, nonce=LargeBinary, expires_at=BigInteger),
    Index(None, "tenant", "expires_at"),
    Index(None, "expires_at"),
)

signing_keys = define_table(
    "signing_keys",
    Column("id", AnyText, primary_key=True),  # RFC 7638 thumbprint of the public key
    Column("public_key", LargeBinary, nullable=False),  # 32 bytes of an Ed25519 key
    # these four columns are empty if the private key is outside the database
    *required(LargeBinary, "secret_ciphertext", "secret_nonce", secret_key_id=AnyText, secret_last4=AnyText),
    Column("created_at", BigInteger, nullable=False),
    Column("retired_at", BigInteger),  # time from which the key signs nothing new; its signatures stay valid
)
