"""AWS Signature Version 4 agrees with the test vectors that AWS published."""

from datetime import UTC, datetime

import pytest

from workers.targets.auth.credentials import signed_headers
from workers.targets.auth.schemes import AwsKeys

KEYS = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
THEN = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
HOST = "https://example.amazonaws.com"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

# name in AWS's Signature Version 4 test suite -> request and signature
VECTORS = {
    "get-vanilla": ("GET", f"{HOST}/", {}, b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "post-vanilla": ("POST", f"{HOST}/", {}, b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    "get-vanilla-query-order-key-case": (
        "GET",
        f"{HOST}/?Param2=value2&Param1=value1",
        {},
        b"",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-utf8": ("GET", f"{HOST}/ሴ", {}, b"", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
    "post-x-www-form-urlencoded": (
        "POST",
        f"{HOST}/",
        FORM,
        b"Param1=value1",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
}


def signed(method, url, headers, content, service="service", keys=KEYS):
    return signed_headers(method, url, headers, content, keys=keys, region="us-east-1", service=service, now=THEN)


@pytest.mark.parametrize("name", VECTORS)
def test_signatures_equal_those_of_the_aws_test_suite(name):
    *request, signature = VECTORS[name]
    made = signed(*request)
    names = "content-type;host;x-amz-date" if request[2] else "host;x-amz-date"
    assert made == {
        "X-Amz-Date": "20150830T123600Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}",
    }


def test_signature_equals_that_of_the_example_in_the_aws_documentation():
    form = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    made = signed("GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", form, b"", "iam")
    signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    assert made["Authorization"].endswith(f"Signature={signature}")


def test_session_token_is_sent_and_signed():
    made = signed("GET", f"{HOST}/", {}, b"", keys=AwsKeys("AKIDEXAMPLE", KEYS.secret_key, "token"))
    assert made["X-Amz-Security-Token"] == "token"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in made["Authorization"]


def test_an_encoded_path_is_encoded_once_more_for_the_signature():
    plain, encoded = (signed("GET", f"{HOST}/model/{name}", {}, b"") for name in ("a:0", "a%3A0"))
    assert plain["Authorization"] != encoded["Authorization"]
