"""Tests of canonical JSON, the Merkle tree of the evidence, and the digest of a target."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.canonical import EvidenceTree, canonical_json, target_digest


def merkle(leaves: list[bytes]) -> bytes:
    """Return the Merkle tree hash by the definition in RFC 9162, section 2.1.1."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + merkle(leaves[:split]) + merkle(leaves[split:])).digest()


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.text(max_size=5), st.integers(), max_size=3), max_size=40))
def test_the_evidence_head_equals_the_rfc_9162_definition(observations: list[dict]):
    tree = EvidenceTree()
    for one in observations:
        tree.append(one)
    assert tree.head() == "sha256:" + merkle([canonical_json(one) for one in observations]).hex()
    assert tree.size == len(observations)


def test_canonical_json_is_utf_8_with_sorted_keys_and_without_white_space():
    assert canonical_json({"b": 1, "a": [1.5, "é", None]}) == '{"a":[1.5,"é",null],"b":1}'.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_are_refused_in_canonical_json(number: float):
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": number})


def test_the_digest_of_a_rated_service_ignores_its_name_and_limits():
    one = {"name": "A", "kind": "translator", "protocol": "custom", "url": "http://x", "settings": {}, "limits": {}}
    assert target_digest(one) == target_digest({**one, "name": "B", "limits": {"concurrency": 1}})
    assert target_digest(one) != target_digest({**one, "url": "http://y"})
