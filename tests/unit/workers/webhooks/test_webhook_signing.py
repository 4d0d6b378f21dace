"""Our signatures, checked by the library of Standard Webhooks and by `cryptography`."""

from __future__ import annotations

import base64
import json
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from store.security.signing import is_signature
from store.webhooks.webhooks import new_secret
from workers.webhooks.delivery_loop import signed_headers

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SECRET = new_secret()


def headers(body=b'{"a":1}', *, secrets=(SECRET,), at=None, message_id="dlv_1"):
    return signed_headers(message_id, int(time.time()) if at is None else at, body, secrets, KEY.sign)


@pytest.mark.slow
@given(body=st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_the_standardwebhooks_library_accepts_our_signatures(body):

    written = json.dumps(body).encode()
    assert Webhook(SECRET).verify(written, headers(written)) == body


def test_the_agencys_webhook_signature_can_be_checked_with_its_public_key_alone():
    told = headers(secrets=())
    (signature,) = told["webhook-signature"].split(" ")
    version, _, written = signature.partition(",")
    message = f"dlv_1.{told['webhook-timestamp']}.".encode() + b'{"a":1}'
    assert version == "v1a"
    Ed25519PublicKey.from_public_bytes(KEY.public_key().public_bytes_raw()).verify(base64.b64decode(written), message)
    assert not is_signature(KEY.public_key().public_bytes_raw(), base64.b64decode(written), message + b" ")


def test_the_signature_of_a_fixed_message_equals_that_computed_with_openssl():
    # HMAC-SHA256 of "dlv_1.1700000000.{}" under the key "secret", computed with openssl
    told = headers(b"{}", secrets=("whsec_c2VjcmV0",), at=1_700_000_000)
    assert told["webhook-signature"].split(" ")[0] == "v1,N61W7pyr7nckXBuFQlzF9uI44R9nKOqN11a0xwFhwhc="
    assert told["webhook-id"] == "dlv_1"
    assert told["webhook-timestamp"] == "1700000000"


def test_a_signature_made_during_a_rotation_verifies_with_either_secret():
    old, new = new_secret(), new_secret()
    told = headers(secrets=(new, old))
    for secret in (old, new):
        assert Webhook(secret).verify(b'{"a":1}', told) == {"a": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(b'{"a":1}', told)


@pytest.mark.parametrize(
    "tampered",
    [
        {"body": b'{"a":2}'},
        {"webhook-id": "dlv_2"},
        {"webhook-timestamp": -1},  # one second earlier than signed
    ],
)
def test_the_standardwebhooks_library_refuses_a_modified_message(tampered):
    told = headers()
    if earlier := tampered.get("webhook-timestamp"):
        told["webhook-timestamp"] = str(int(told["webhook-timestamp"]) + earlier)
    if "webhook-id" in tampered:
        told["webhook-id"] = tampered["webhook-id"]
    with pytest.raises(WebhookVerificationError, match="No matching signature"):
        Webhook(SECRET).verify(tampered.get("body", b'{"a":1}'), told)


@pytest.mark.parametrize(("off_s", "why"), [(-301, "too old"), (301, "too new")])
def test_the_standardwebhooks_library_refuses_a_late_replay(off_s, why):
    with pytest.raises(WebhookVerificationError, match=why):
        Webhook(SECRET).verify(b'{"a":1}', headers(at=int(time.time()) + off_s))
