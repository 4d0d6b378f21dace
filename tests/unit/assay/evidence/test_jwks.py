"""Tests of public keys as JSON Web Keys: the test vectors of RFC 8037, and documents without a key."""

import pytest

from assay.evidence.jwks import UnreadableKeys, decode, jwk, read_jwks, thumbprint

# RFC 8037, appendices A.1 and A.3
X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
THUMBPRINT = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_the_thumbprint_equals_the_example_of_rfc_8037():
    assert thumbprint(decode(X)) == THUMBPRINT
    assert jwk(decode(X), made="today") == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": X,
        "kid": THUMBPRINT,
        "use": "sig",
        "alg": "EdDSA",
        "made": "today",
    }


def test_a_jwk_set_and_a_single_jwk_are_read_and_keys_of_other_types_are_ignored():
    one, other = jwk(decode(X)), {"kty": "RSA", "n": "", "e": ""}
    assert read_jwks({"keys": [other, one]}) == read_jwks(one) == {THUMBPRINT: decode(X)}


def test_a_key_is_identified_by_its_digest_and_not_its_kid():
    assert read_jwks({"keys": [jwk(decode(X)) | {"kid": "somebody"}]}) == {THUMBPRINT: decode(X)}


@pytest.mark.parametrize(
    "written",
    [None, [], "key", {}, {"keys": {}}, {"keys": []}, {"keys": [None]}]
    + [{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}]} for x in (None, "", "AAAA", "*" * 43, "\u00e9")],
)
def test_a_json_document_without_a_usable_public_key_is_refused(written):
    with pytest.raises(UnreadableKeys):
        read_jwks(written)
