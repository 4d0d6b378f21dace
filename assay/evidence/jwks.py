"""Public Ed25519 keys as JSON Web Keys (RFC 7517, RFC 8037)."""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping

from assay.errors import SpecificationError

KEY_BYTES = 32


class UnreadableKeys(SpecificationError):
    """The document is not a key set, or holds no Ed25519 key."""

    code = "unreadable-keys"


def thumbprint(public_key: bytes) -> str:
    """Return the thumbprint of an Ed25519 key (RFC 7638): 43 characters of base64url."""
    members = json.dumps(_key_members(public_key), sort_keys=True, separators=(",", ":"))
    return encode(hashlib.sha256(members.encode("ascii")).digest())


def jwk(public_key: bytes, **members: str) -> dict[str, str]:
    """Return a public key of 32 bytes as a JSON Web Key, with optional further members."""
    return {**_key_members(public_key), "kid": thumbprint(public_key), "use": "sig", "alg": "EdDSA", **members}


def read_jwks(document: object) -> dict[str, bytes]:
    """Read a key set, or a single key, from decoded JSON: ``{"keys": [...]}`` or one JSON Web Key.

    Return the 32 bytes of each Ed25519 key by its computed thumbprint; the stated ``kid`` and keys of other kinds are
    ignored. Raise `UnreadableKeys` if the document is not a key set, or has no Ed25519 key.
    """
    raw_keys = document.get("keys", [document]) if isinstance(document, Mapping) else None
    if not isinstance(raw_keys, list):
        raise UnreadableKeys('a key set is an object with a list under "keys"; GET /.well-known/jwks.json returns one')
    keys = [key for key in map(_read_public_key, raw_keys) if key is not None]
    if not keys:
        raise UnreadableKeys(
            f"none of the {len(raw_keys)} keys is an Ed25519 key (kty OKP, crv Ed25519, x of 32 bytes)"
        )
    return {thumbprint(key): key for key in keys}


def encode(content: bytes) -> str:
    """Encode bytes as base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Decode base64url without padding; raise `ValueError` if the text is not base64url."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _key_members(public_key: bytes) -> dict[str, str]:
    return {"crv": "Ed25519", "kty": "OKP", "x": encode(public_key)}


def _read_public_key(raw_key: object) -> bytes | None:
    """Return the 32 bytes of an Ed25519 key; ``None`` for any other key or value."""
    if not isinstance(raw_key, Mapping) or (raw_key.get("kty"), raw_key.get("crv")) != ("OKP", "Ed25519"):
        return None
    try:
        key = decode(str(raw_key.get("x")))
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None
