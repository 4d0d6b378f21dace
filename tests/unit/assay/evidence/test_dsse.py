"""Tests of DSSE envelopes: the signed bytes, and the refusal of changed or malformed envelopes."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from assay.errors import CertificateError
from assay.evidence.dsse import envelope, opened, pre_authentication, signer_of
from store.security.signing import is_signature

PRIVATE = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
KEYS = {"mine": PRIVATE.public_key().public_bytes_raw()}


def made(key_id: str, signature: bytes, message: bytes) -> bool:
    return key_id in KEYS and is_signature(KEYS[key_id], signature, message)


def test_the_signed_bytes_equal_the_example_of_the_dsse_specification():
    signed = pre_authentication("http://example.com/HelloWorld", b"hello world")
    assert signed == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


@given(st.text(max_size=20), st.binary(max_size=50))
def test_an_envelope_returns_its_payload_with_a_valid_signature(kind, payload):
    one = opened(json.loads(json.dumps(envelope(kind, payload, {"mine": PRIVATE.sign}))))
    assert (one.payload_type, one.payload) == (kind, payload)
    assert signer_of(one, made) == "mine"


def test_a_changed_payload_or_type_an_unknown_key_and_a_missing_signature_are_refused():
    one = envelope("a", b"word", {"mine": PRIVATE.sign})
    for changed in ({"payload": base64.b64encode(b"Word").decode()}, {"payloadType": "b"}):
        with pytest.raises(CertificateError, match="does not match its content"):
            signer_of(opened(one | changed), made)
    with pytest.raises(CertificateError, match="by the key other"):
        signer_of(opened(envelope("a", b"word", {"other": PRIVATE.sign})), made)
    with pytest.raises(CertificateError, match="has no signature"):
        signer_of(opened(envelope("a", b"word", {})), made)


@pytest.mark.parametrize(
    "written",
    [
        None,
        [],
        {},
        {"payload": "", "payloadType": "a"},
        {"payload": "", "payloadType": "a", "signatures": [], "more": 1},
        {"payload": 7, "payloadType": "a", "signatures": []},
        {"payload": "YQ", "payloadType": "a", "signatures": []},
        {"payload": "YR==", "payloadType": "a", "signatures": []},
        {"payload": "Y Q==", "payloadType": "a", "signatures": []},
        {"payload": "\u00e9", "payloadType": "a", "signatures": []},
        {"payload": "", "payloadType": 1, "signatures": []},
        {"payload": "", "payloadType": "a", "signatures": {}},
        {"payload": "", "payloadType": "a", "signatures": [{}]},
        {"payload": "", "payloadType": "a", "signatures": [{"keyid": 1, "sig": ""}]},
        {"payload": "", "payloadType": "a", "signatures": [{"keyid": "a", "sig": None}]},
    ],
)
def test_malformed_or_loosely_encoded_dsse_envelopes_are_refused(written):
    with pytest.raises(CertificateError):
        opened(written)


def test_the_library_securesystemslib_accepts_our_envelope_and_refuses_a_forged_one():
    key = SSlibKey("mine", "ed25519", "ed25519", {"public": KEYS["mine"].hex()})
    ours = Envelope.from_dict(envelope("application/x", b"word", {"mine": PRIVATE.sign}))
    assert set(ours.verify([key], 1)) == {"mine"}
    forged = Envelope.from_dict(envelope("application/x", b"word", {"mine": lambda _: b"0" * 64}))
    with pytest.raises(VerificationError):
        forged.verify([key], 1)
