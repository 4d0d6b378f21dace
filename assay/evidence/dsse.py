"""Signed envelopes: DSSE, the "Dead Simple Signing Envelope", version 1.

The signature covers the payload's bytes and its type, not the JSON around them, so that verification needs no
canonical form. The caller passes in the functions that sign and verify; this module holds no cryptography.

References
----------
.. [1] DSSE protocol and envelope, v1.0.2 (Secure Systems Lab).
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.document import JsonObject
from assay.errors import CertificateError

Sign = Callable[[bytes], bytes]
"""Function that signs a message: ``sign(message)`` returns the signature."""

IsSignature = Callable[[str, bytes, bytes], bool]
"""Function that verifies a signature: ``is_signature(key_id, signature, message)`` returns whether it is valid."""


class UnknownSigner(CertificateError):
    """The key that signed is not among the known keys."""

    code = "unknown-signer"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"it is signed by the key {key_id[:100]}, which is unknown: it is not in the key set")


@dataclass(frozen=True)
class OpenedEnvelope:
    """Content of an envelope; each signature comes with the id of the key that claims to have made it."""

    payload_type: str
    payload: bytes
    signatures: tuple[tuple[str, bytes], ...]

    @property
    def message(self) -> bytes:
        """The bytes that are signed."""
        return pre_authentication(self.payload_type, self.payload)

    @property
    def key_ids(self) -> tuple[str, ...]:
        """Ids of the keys that claim to have signed."""
        return tuple(key_id for key_id, _ in self.signatures)


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """Encode a payload and its type unambiguously: each is preceded by its length."""
    type_bytes = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(type_bytes), type_bytes, len(payload), payload)


def envelope(payload_type: str, payload: bytes, signers: Mapping[str, Sign]) -> JsonObject:
    """Return an envelope with a payload and its signatures.

    `signers` has the signing function of each key, by the key's id; if empty, the envelope has no signature.
    """
    message = pre_authentication(payload_type, payload)
    return {
        "payload": _to_base64(payload),
        "payloadType": payload_type,
        "signatures": [{"keyid": key_id, "sig": _to_base64(sign(message))} for key_id, sign in signers.items()],
    }


def opened(raw: object) -> OpenedEnvelope:
    """Parse an envelope without verifying its signatures; raise `CertificateError` if it is malformed.

    Only the form that `envelope` writes is accepted: no other members, and strict base64. So no byte of
    an envelope can be changed unnoticed.
    """
    if not isinstance(raw, Mapping) or set(raw) != {"payload", "payloadType", "signatures"}:
        raise CertificateError("this is not a DSSE envelope: it must have payload, payloadType and signatures")
    type_name, signatures = raw["payloadType"], raw["signatures"]
    if not isinstance(type_name, str) or not isinstance(signatures, list):
        raise CertificateError("the envelope's payloadType is not a text, or its signatures are not a list")
    return OpenedEnvelope(type_name, _from_base64("payload", raw["payload"]), tuple(map(_read_signature, signatures)))


def signer_of(envelope: OpenedEnvelope, is_signature: IsSignature) -> str:
    """Return the id of the first key that signed an envelope; raise `CertificateError` if none did.

    If `is_signature` raises `UnknownSigner` and no other key signed, this function raises it too. The reader learns
    that a key is missing, and not that the signature is invalid.
    """
    unknown_key = None
    for key_id, signature in envelope.signatures:
        try:
            if is_signature(key_id, signature, envelope.message):
                return key_id
        except UnknownSigner as error:
            unknown_key = error
    if unknown_key is not None:
        raise unknown_key
    if not envelope.signatures:
        raise CertificateError("the envelope has no signature")
    raise CertificateError(f"the signature by the key {' or '.join(envelope.key_ids)} does not match its content")


def _read_signature(raw: object) -> tuple[str, bytes]:
    if not isinstance(raw, Mapping) or set(raw) != {"keyid", "sig"} or not isinstance(raw["keyid"], str):
        raise CertificateError("a signature of the envelope lacks its keyid or sig")
    return raw["keyid"], _from_base64("sig", raw["sig"])


def _to_base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _from_base64(name: str, raw: Any) -> bytes:
    """Decode the member `name` of an envelope; raise `CertificateError` unless it is exactly the bytes' base64."""
    try:
        content = base64.b64decode(raw, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise CertificateError(f"the envelope's {name} is not base64") from None
    # different texts can decode to the same bytes, because the last character has unused bits
    if _to_base64(content) != raw:
        raise CertificateError(f"the envelope's {name} is not base64 in its strict form")
    return content
