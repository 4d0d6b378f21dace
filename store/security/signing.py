"""Signing keys of the agency: Ed25519, retired but never deleted.

By default a key is created on first use and stored encrypted. If the settings name a key outside the database
(`store.security.outside_key`), only its public part is stored, so that it is published like other keys.

`current` returns the key for new signatures. Verification needs all keys (`all_keys`), because signatures of
retired keys stay valid.
"""

import json
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection, RowMapping, insert, select, update

from assay.errors import SpecificationError
from assay.evidence.jwks import decode, encode, jwk, thumbprint
from store.core.columns import iso, now_ms, sealed_columns, take_sealed
from store.core.engines import lock_transaction
from store.core.errors import SigningUnavailable
from store.core.rows import all_rows
from store.security.outside_key import SigningKey, is_signature
from store.security.secrets import Vault
from store.security.tables import signing_keys

__all__ = ["PublicKey", "SigningKey", "all_keys", "current", "find", "is_signature", "rotate"]

TENANT = ""
"""Tenant name with which signing keys are encrypted; they belong to no tenant."""

FIELD = "secret"

LOCK = 0x5369676E
"""Key of the Postgres advisory lock for creating signing keys, so that only one process creates the first key."""

NO_SECRET = {"secret_ciphertext": b"", "secret_nonce": b"", "secret_key_id": "", "secret_last4": ""}
"""Columns of a key whose private part is outside the database."""

NEWEST_FIRST = (signing_keys.c.created_at.desc(), signing_keys.c.id.desc())


@dataclass(frozen=True)
class PublicKey:
    """A key for verifying signatures.

    `id` is its thumbprint (RFC 7638), `public_key` has 32 bytes (Ed25519). Times are milliseconds since 1970; only
    a key that is not retired signs.
    """

    id: str
    public_key: bytes
    created_at: int
    retired_at: int | None

    def as_jwk(self) -> dict[str, str]:
        """Return a JSON Web Key with the times of creation and retirement."""
        retirement = {} if self.retired_at is None else {"retired_at": iso(self.retired_at)}
        return jwk(self.public_key, created_at=iso(self.created_at), **retirement)


def current(c: Connection, vault: Vault) -> SigningKey:
    """Return the current signing key; create it if there is none.

    A key outside the database becomes the current key at its first use; the previous key is retired.

    Raise `SecretLost` if the current key's encryption key is not configured, `SecretMoved` if its row was altered, and
    `SigningUnavailable` if the current key is outside the database and not configured, or was retired.
    """
    if vault.outside is not None:
        return _register_outside(c, vault.outside)
    row = _current_key(c)
    if row is None:
        lock_transaction(c, LOCK)
        row = _current_key(c)  # another process may have created the key during the wait for the lock
    return _create_key(c, vault) if row is None else _open_key(row, vault)


def find(c: Connection, vault: Vault) -> SigningKey | None:
    """Return the current signing key, or ``None`` if it is not stored yet; works on a read-only connection."""
    row = _current_key(c)
    if vault.outside is not None:
        return vault.outside if row is not None and row["id"] == vault.outside.id else None
    return None if row is None else _open_key(row, vault)


def rotate(c: Connection, vault: Vault) -> SigningKey:
    """Retire the current signing key and create a new key; earlier signatures stay valid.

    The old key is not decrypted, so a lost key can be replaced too.

    Raise `SpecificationError` if the settings name a key outside the database.
    """
    if vault.outside is not None:
        raise SpecificationError(
            "the signing key is kept outside the database; to replace it, change ASSAY_SIGNING_KEY_FILE or "
            "ASSAY_SIGNING_COMMAND with ASSAY_SIGNING_PUBLIC_KEY_FILE, and restart every process"
        )
    lock_transaction(c, LOCK)
    _retire_current(c)
    return _create_key(c, vault)


def all_keys(c: Connection) -> list[PublicKey]:
    """List all keys, including retired ones, newest first."""
    query = select(*(signing_keys.c[name] for name in PublicKey.__dataclass_fields__)).order_by(*NEWEST_FIRST)
    return all_rows(c, query, PublicKey)


def _current_key(c: Connection) -> RowMapping | None:
    query = select(signing_keys).where(signing_keys.c.retired_at.is_(None)).order_by(*NEWEST_FIRST).limit(1)
    return c.execute(query).mappings().one_or_none()


def _retire_current(c: Connection) -> None:
    c.execute(update(signing_keys).where(signing_keys.c.retired_at.is_(None)).values(retired_at=now_ms()))


def _register_outside(c: Connection, key: SigningKey) -> SigningKey:
    """Return a key outside the database; store its public part at first use, and raise an error if it was retired."""
    query = select(signing_keys.c.retired_at).where(signing_keys.c.id == key.id)
    stored_key = c.execute(query).one_or_none()
    if stored_key is None:
        lock_transaction(c, LOCK)
        stored_key = c.execute(query).one_or_none()  # another process may have stored it meanwhile
    if stored_key is None:
        _retire_current(c)
        values = {"id": key.id, "public_key": key.public_key, "created_at": now_ms(), "retired_at": None}
        c.execute(insert(signing_keys).values(values | NO_SECRET))
    elif stored_key.retired_at is not None:
        # a process with old settings must not bring back a key that was replaced, perhaps because it leaked
        message = f"the configured signing key {key.id} was retired when another was configured; configure a new key"
        raise SigningUnavailable(message)
    return key


def _create_key(c: Connection, vault: Vault) -> SigningKey:
    """Generate a key, and store it with its private part encrypted."""
    private_key = Ed25519PrivateKey.generate()
    public_key = private_key.public_key().public_bytes_raw()
    key_id = thumbprint(public_key)
    # a private JSON Web Key, sorted so that its last characters, which are stored unencrypted, are public ones
    private_jwk = {"crv": "Ed25519", "d": encode(private_key.private_bytes_raw())}
    private_jwk |= {"kty": "OKP", "x": encode(public_key)}
    sealed_key = vault.seal(json.dumps(private_jwk), tenant=TENANT, target=key_id, field=FIELD)
    row = {"id": key_id, "public_key": public_key, "created_at": now_ms(), "retired_at": None}
    c.execute(insert(signing_keys).values(row | sealed_columns(sealed_key)))
    return SigningKey(key_id, public_key, private_key.sign)


def _open_key(row: RowMapping, vault: Vault) -> SigningKey:
    """Decrypt the private part of a stored key; raise `SigningUnavailable` if it is outside the database."""
    sealed_key = take_sealed(dict(row))
    if sealed_key is None or not sealed_key.key_id:
        raise SigningUnavailable(
            f"the current signing key {row['id']} is kept outside the database and this process has none configured; "
            "set ASSAY_SIGNING_KEY_FILE or ASSAY_SIGNING_COMMAND, or run `assay keys signing rotate`"
        )
    private_jwk = json.loads(vault.open(sealed_key, tenant=TENANT, target=row["id"], field=FIELD))
    return SigningKey(row["id"], row["public_key"], Ed25519PrivateKey.from_private_bytes(decode(private_jwk["d"])).sign)
