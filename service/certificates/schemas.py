"""Schemas of certificates, proofs and signing keys."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from assay.document import JsonObject
from assay.evidence.jwks import encode
from service.http.openapi.common_schemas import Instant, QueryModel, ResponseModel


class AttestationQuery(QueryModel):
    """Query parameters of a certificate."""

    predicate: Annotated[
        Literal["rating", "test-result"],
        Field(description="`rating`: the whole rating; `test-result`: in-toto's own predicate, for declared letters."),
    ] = "rating"


class SignatureView(ResponseModel):
    """One signature."""

    keyid: str
    """Thumbprint of the key (RFC 7638): its `kid` in `/.well-known/jwks.json`."""
    sig: str
    """Ed25519 signature: 64 bytes in base64."""


class EnvelopeView(ResponseModel):
    """A DSSE envelope: signed payload, its type, and the signatures."""

    payload: str
    """An in-toto Statement v1, in base64."""
    payloadType: str
    signatures: list[SignatureView]


class ProofView(ResponseModel):
    """One observation, with the proof that it is part of the certified evidence."""

    rating: str
    seq: int
    observation: JsonObject
    """The question with its reply. Its canonical JSON is the leaf of the tree."""
    leaf_index: int
    """Position in the evidence, from 0, in the order of the experiment."""
    tree_size: int
    proof: list[str]
    """Hashes from the leaf to the root, in hexadecimal (RFC 9162, section 2.1.3)."""
    evidence_digest: str
    attestation: EnvelopeView
    """The certificate, which holds the same digest."""


class JwkView(ResponseModel):
    """A public key (RFC 7517, RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    kid: str
    use: Literal["sig"]
    alg: Literal["EdDSA"]
    created_at: str
    retired_at: str | None = None
    """Time of the key's retirement. A retired key signs nothing new; its signatures stay valid."""


class JwksView(ResponseModel):
    """All signing keys, newest first."""

    keys: list[JwkView]


class SigningKeyView(ResponseModel):
    """The public part of a signing key."""

    id: str
    public_key: Annotated[str, BeforeValidator(encode)]
    """32 bytes, in base64url."""
    created_at: Instant
    retired_at: Instant | None
    """Time of the key's retirement; null for the current key."""


class SigningKeyList(ResponseModel):
    """All signing keys, newest first."""

    items: list[SigningKeyView]
