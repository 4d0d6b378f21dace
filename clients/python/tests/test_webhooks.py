"""Signatures of notices; the library `standardwebhooks` signs them."""

from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from assay_client import WebhookRejected, verify_webhook

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
OTHER = "whsec_" + base64.b64encode(b"another secret of 24 byt").decode()
BODY = b'{"type":"ping","timestamp":"2026-01-02T03:04:05Z","data":{}}'
AT = 1_767_323_045


def headers(*secrets, body=BODY, at=AT):
    """Return headers as the agency sends them: a v1a signature, and one v1 signature for each secret."""
    when = datetime.fromtimestamp(at, UTC)
    signatures = [Webhook(one).sign("dlv_1", when, body.decode()) for one in secrets]
    return {
        "webhook-id": "dlv_1",
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join([*signatures, f"v1a,{base64.b64encode(b's' * 64).decode()}"]),
    }


def test_a_webhook_notice_with_a_valid_signature_is_parsed():
    assert verify_webhook(headers(SECRET), BODY, SECRET, now_s=AT + 20) == json.loads(BODY)


def test_the_standardwebhooks_library_accepts_the_same_signatures():
    now_s = int(time.time())
    signed = headers(SECRET, at=now_s)
    assert verify_webhook(signed, BODY, SECRET) == Webhook(SECRET).verify(BODY, signed)


@pytest.mark.parametrize("secret", [SECRET, OTHER])
def test_both_webhook_secrets_are_accepted_during_a_rotation(secret):
    assert verify_webhook(headers(SECRET, OTHER), BODY, secret, now_s=AT)["type"] == "ping"


def test_the_case_of_header_names_does_not_matter():
    assert verify_webhook({name.title(): value for name, value in headers(SECRET).items()}, BODY, SECRET, now_s=AT)


@given(st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_a_webhook_notice_with_a_changed_byte_is_refused(place, by):
    changed = bytearray(BODY)
    changed[place] ^= by
    with pytest.raises(WebhookRejected):
        verify_webhook(headers(SECRET), bytes(changed), SECRET, now_s=AT)


@pytest.mark.parametrize("secrets", [(OTHER,), ()])
def test_a_webhook_notice_signed_with_another_secret_is_refused(secrets):
    with pytest.raises(WebhookRejected, match="no v1 signature"):
        verify_webhook(headers(*secrets), BODY, SECRET, now_s=AT)


@pytest.mark.parametrize("off_s", [-301, 301])
def test_a_webhook_notice_with_a_time_outside_the_tolerance_is_refused(off_s):
    with pytest.raises(WebhookRejected, match="300 s are allowed"):
        verify_webhook(headers(SECRET), BODY, SECRET, now_s=AT + off_s)
    assert verify_webhook(headers(SECRET), BODY, SECRET, now_s=AT + off_s, tolerance_s=400)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, "", "ü", "x"])
def test_a_webhook_notice_with_a_missing_or_malformed_header_is_refused(name, value):
    changed = {**headers(SECRET), name: value}
    with pytest.raises(WebhookRejected):
        verify_webhook({one: said for one, said in changed.items() if said is not None}, BODY, SECRET, now_s=AT)


@pytest.mark.parametrize("signature", ["v1,", "v1,!!!", "v1", "v1a,abcd", "v2,abcd", ",", "v1,QUJD"])
def test_a_malformed_signature_is_refused(signature):
    with pytest.raises(WebhookRejected):
        verify_webhook({**headers(SECRET), "webhook-signature": signature}, BODY, SECRET, now_s=AT)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!", SECRET.removeprefix("whsec_")])
def test_a_malformed_secret_raises_value_error(secret):
    with pytest.raises(ValueError, match="whsec_"):
        verify_webhook(headers(SECRET), BODY, secret, now_s=AT)


@pytest.mark.parametrize("digits", [21, 400, 5000])
def test_a_timestamp_of_many_digits_is_refused(digits):
    with pytest.raises(WebhookRejected, match="not seconds since 1970"):
        verify_webhook({**headers(SECRET), "webhook-timestamp": "9" * digits}, BODY, SECRET, now_s=AT)
