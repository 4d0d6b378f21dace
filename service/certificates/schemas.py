"""Certificates: signed envelopes, proofs, and the keys to check them with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from assay.evidence.jwks import encode
from service.http.openapi.common_schemas import Instant, Told, instant, maybe_instant
from store.security.signing import PublicKey


class AttestationQuery(BaseModel):
    """Which statement about the rating."""

    model_config = ConfigDict(extra="forbid")

    predicate: Annotated[
        Literal["rating", "test-result"],
        Field(description="`rating`: all that was found; `test-result`: in-toto's own, only of a declared letter."),
    ] = "rating"


class SignatureView(Told):
    """One signature."""

    keyid: str
    """Thumbprint of the key (RFC 7638), as `/.well-known/jwks.json` has it in `kid`."""
    sig: str
    """64 bytes of Ed25519, in base64."""


class EnvelopeView(Told):
    """A DSSE envelope: what is signed, its type, and the signatures."""

    payload: str
    """An in-toto Statement v1, in base64."""
    payloadType: str
    signatures: list[SignatureView]

    @classmethod
    def of(cls, envelope: Mapping[str, Any]) -> Self:
        """Show an envelope."""
        return cls.model_validate(envelope)


class ProofView(Told):
    """One observation, with the proof that it is part of what the certificate seals."""

    rating: str
    seq: int
    observation: dict[str, Any]
    """The question with its answer. Its canonical JSON is the leaf."""
    leaf_index: int
    """Its place in the evidence, from 0, in the order in which the experiment asked."""
    tree_size: int
    proof: list[str]
    """Hashes from the leaf to the head, in hexadecimal (RFC 9162, section 2.1.3)."""
    evidence_digest: str
    attestation: EnvelopeView
    """The certificate, which states the same digest."""


class JwkView(Told):
    """A public key (RFC 7517, RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    kid: str
    use: Literal["sig"]
    alg: Literal["EdDSA"]
    created_at: str
    retired_at: str | None = None
    """A retired key signs nothing new; what it has signed still holds."""


class JwksView(Told):
    """Every key that ever signed, newest first."""

    keys: list[JwkView]


class SigningKeyView(Told):
    """A signing key, without its private half."""

    id: str
    public_key: str
    """32 bytes, in base64url."""
    created_at: Instant
    retired_at: Instant | None
    """Null for the key that signs."""

    @classmethod
    def of(cls, key: PublicKey) -> Self:
        """Show a key."""
        return cls(
            id=key.id,
            public_key=encode(key.public_key),
            created_at=instant(key.created_at),
            retired_at=maybe_instant(key.retired_at),
        )


class SigningKeyList(Told):
    """All signing keys, newest first."""

    items: list[SigningKeyView]
