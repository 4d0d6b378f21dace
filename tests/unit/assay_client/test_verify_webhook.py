"""A notice is the agency's, or it is refused; `standardwebhooks` signs some and the agency's own code others."""

from __future__ import annotations

import base64
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from assay_client import WebhookRejected, verify_webhook
from workers.signing import signed_headers

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
OTHER = "whsec_" + base64.b64encode(b"another secret of 24 byt").decode()
BODY = b'{"type":"ping","timestamp":"2026-01-02T03:04:05Z","data":{}}'
AT = 1_767_323_045


def headers(*secrets, body=BODY):
    return signed_headers("dlv_1", AT, body, secrets or (SECRET,), lambda message: b"s" * 64)


def test_what_the_agency_signs_is_read():
    assert verify_webhook(headers(), BODY, SECRET, now_s=AT + 20) == json.loads(BODY)


def test_another_library_agrees():
    now_s = int(time.time())
    signed = signed_headers("dlv_1", now_s, BODY, (SECRET,), lambda message: b"s" * 64)
    assert verify_webhook(signed, BODY, SECRET) == Webhook(SECRET).verify(BODY, signed)


@pytest.mark.parametrize("secret", [SECRET, OTHER])
def test_while_a_secret_is_rotated_both_are_good(secret):
    assert verify_webhook(headers(SECRET, OTHER), BODY, secret, now_s=AT)["type"] == "ping"


def test_the_case_of_header_names_does_not_matter():
    assert verify_webhook({name.title(): value for name, value in headers().items()}, BODY, SECRET, now_s=AT)


@given(st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_any_other_byte_is_refused(place, by):
    changed = bytearray(BODY)
    changed[place] ^= by
    with pytest.raises(WebhookRejected):
        verify_webhook(headers(), bytes(changed), SECRET, now_s=AT)


@pytest.mark.parametrize("secrets", [(OTHER,), ()])
def test_a_signature_by_another_is_refused(secrets):
    signed = signed_headers("dlv_1", AT, BODY, secrets, lambda message: b"s" * 64)
    with pytest.raises(WebhookRejected, match="no v1 signature"):
        verify_webhook(signed, BODY, SECRET, now_s=AT)


@pytest.mark.parametrize("off_s", [-301, 301])
def test_a_recorded_notice_is_refused(off_s):
    with pytest.raises(WebhookRejected, match="300 s are allowed"):
        verify_webhook(headers(), BODY, SECRET, now_s=AT + off_s)
    assert verify_webhook(headers(), BODY, SECRET, now_s=AT + off_s, tolerance_s=400)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, "", "ü", "x"])
def test_a_missing_or_garbled_header_is_refused(name, value):
    changed = {**headers(), name: value}
    with pytest.raises(WebhookRejected):
        verify_webhook({one: said for one, said in changed.items() if said is not None}, BODY, SECRET, now_s=AT)


@pytest.mark.parametrize("signature", ["v1,", "v1,!!!", "v1", "v1a,abcd", "v2,abcd", ",", "v1,QUJD"])
def test_a_garbled_signature_is_refused_not_crashed_on(signature):
    with pytest.raises(WebhookRejected):
        verify_webhook({**headers(), "webhook-signature": signature}, BODY, SECRET, now_s=AT)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!", SECRET.removeprefix("whsec_")])
def test_a_secret_that_is_none_is_the_callers_mistake(secret):
    with pytest.raises(ValueError, match="whsec_"):
        verify_webhook(headers(), BODY, secret, now_s=AT)
