"""Tests of Merkle trees (RFC 9162): known tree heads, inclusion proofs and consistency proofs."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.canonical import EvidenceTree, canonical_json
from assay.evidence.merkle import (
    EMPTY_HEAD,
    consistency_spans,
    head,
    inclusion_proof,
    inclusion_spans,
    leaf_hash,
    node_hash,
    nodes_of,
    proves_growth,
    proves_inclusion,
)

# the eight leaves and tree heads of the test suite of Certificate Transparency
LEAVES = [bytes.fromhex(each) for each in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")]
LEAVES.append(bytes.fromhex("606162636465666768696a6b6c6d6e6f"))
HEADS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)

sizes = st.integers(1, 70)


def hashes(count: int) -> list[bytes]:
    return [leaf_hash(str(number).encode()) for number in range(count)]


def consistency_proof(leaves: list[bytes], before: int) -> list[bytes]:
    return [head(leaves[start:stop]) for start, stop in consistency_spans(before, len(leaves))]


def naive(leaves: list[bytes]) -> bytes:
    """Compute the tree head by the definition in section 2.1.1 of RFC 9162."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    middle = 1
    while middle * 2 < len(leaves):
        middle *= 2
    return node_hash(naive(leaves[:middle]), naive(leaves[middle:]))


@pytest.mark.parametrize("size", range(1, 9))
def test_tree_heads_equal_those_of_certificate_transparency(size):
    assert head([leaf_hash(each) for each in LEAVES[:size]]).hex() == HEADS[size - 1]


def test_an_empty_tree_has_the_hash_of_the_empty_string():
    assert head([]) == EMPTY_HEAD == hashlib.sha256(b"").digest()


@given(sizes)
def test_merkle_tree_heads_equal_the_rfc_definition_and_the_heads_of_the_evidence_tree(size):
    observations = [{"unit": str(number)} for number in range(size)]
    leaves = [leaf_hash(canonical_json(each)) for each in observations]
    tree = EvidenceTree()
    for each in observations:
        tree.append(each)
    assert head(leaves) == naive(leaves)
    assert tree.head() == f"sha256:{head(leaves).hex()}"


@pytest.mark.slow
@given(sizes, st.data())
def test_inclusion_proof_of_a_leaf_verifies_at_its_position_only(size, data):
    leaves, index = hashes(size), data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(leaves, index)
    assert proves_inclusion(leaves[index], index, size, proof, head(leaves))
    for elsewhere in range(-1, size + 2):
        if elsewhere != index:
            assert not proves_inclusion(leaves[index], elsewhere, size, proof, head(leaves))
    assert not proves_inclusion(leaf_hash(b"other"), index, size, proof, head(leaves))
    assert not proves_inclusion(leaves[index], index, size, [*proof, leaves[0]], head(leaves))
    assert not proof or not proves_inclusion(leaves[index], index, size, proof[:-1], head(leaves))


@given(sizes, st.data())
def test_consistency_proof_verifies_for_a_grown_tree_and_not_for_a_rewritten_one(size, data):
    before = data.draw(st.integers(1, size))
    leaves = hashes(size)
    older, newer, proof = head(leaves[:before]), head(leaves), consistency_proof(leaves, before)
    assert proves_growth(before, size, older, newer, proof)
    rewritten = head([leaf_hash(b"other"), *leaves[1:before]])
    assert not proves_growth(before, size, rewritten, newer, proof)
    assert not proves_growth(before, size, older, rewritten, proof) or (rewritten == newer)
    assert not proves_growth(before, size, older, newer, [*proof, older])
    assert not proof or not proves_growth(before, size, older, newer, proof[:-1])


def test_every_tree_is_consistent_with_the_empty_tree():
    assert proves_growth(0, 3, EMPTY_HEAD, head(hashes(3)), [])
    assert proves_growth(0, 0, EMPTY_HEAD, EMPTY_HEAD, [])
    assert not proves_growth(0, 3, leaf_hash(b"x"), head(hashes(3)), [])
    assert not proves_growth(4, 3, head(hashes(4)), head(hashes(3)), [])


def test_proofs_for_a_missing_leaf_or_a_shrunk_tree_are_refused():
    with pytest.raises(IndexError, match="no leaf 3"):
        inclusion_spans(3, 3)
    with pytest.raises(IndexError, match="did not grow"):
        consistency_spans(4, 3)
    with pytest.raises(IndexError, match="did not grow"):
        consistency_spans(0, 3)


@given(st.integers(1, 2**40), st.data())
def test_a_proof_reads_few_nodes_however_large_the_tree(size, data):
    index = data.draw(st.integers(0, size - 1))
    spans = inclusion_spans(index, size)
    assert len(spans) <= size.bit_length()
    for start, stop in spans:
        for level, place in nodes_of((start, stop)):
            assert start <= place << level < stop, "a node of the span, aligned to its own size"
