"""Canonical JSON, and digests of it that anyone can recompute.

Canonical JSON has sorted keys and no white space, in UTF-8; NaN and infinity are errors. The evidence
of a rating is sealed by the head of a Merkle tree over its observations (RFC 9162, section 2.1),
so that a single observation can be disclosed and proved without the others. Leaves are added one
by one, and one hash per level is kept: memory grows with the logarithm of the number of leaves.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical_json(value: object) -> bytes:
    """Write `value` as canonical JSON; raise `ValueError` if it holds NaN or an infinity."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")  # answers may hold half of a surrogate pair


def digest_of(value: object) -> str:
    """Return ``sha256:…``, the SHA-256 digest of the canonical JSON of `value`."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def commitment_of(experiment: object, seed: object, nonce: str) -> str:
    """Return the digest by which an agency commits to an experiment and its seed before the first call.

    The random `nonce` prevents others from finding the seed by trial; the rating reveals it.
    """
    return digest_of({"experiment": experiment, "nonce": nonce, "seed": seed})


UNSEALED_KEYS = frozenset(
    {"visibility", "withdrawn", "next_methodology", "reply", "standing", "because", "in_words", "questions", "choices"}
)
"""Keys of a rating document that its digest leaves out: they may change later, or are added when it is shown."""


def sealed_part(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rating document without the keys that may change after it was sealed (`UNSEALED_KEYS`)."""
    return {name: value for name, value in document.items() if name not in UNSEALED_KEYS}


def rating_digest(document: Mapping[str, Any]) -> str:
    """Return the digest of the sealed part of a rating: the same for the document as stored and as shown later."""
    return digest_of(sealed_part(document))


def target_digest(descriptor: Mapping[str, Any]) -> str:
    """Return the digest that identifies a target by kind, protocol, address and settings, not by secret or limits."""
    return digest_of({key: descriptor[key] for key in ("kind", "protocol", "url", "settings") if key in descriptor})


def described_digest(target: Mapping[str, Any]) -> str:
    """Return `target_digest` of a job's or a saved target's description, which has the URL under ``base_url``."""
    return target_digest({**target, "url": target["base_url"]})


def leaf_hash(content: bytes) -> bytes:
    """Hash a leaf: SHA-256 of the byte 0x00 and the content of the leaf (RFC 9162, section 2.1.1)."""
    return hashlib.sha256(b"\x00" + content).digest()


def node_hash(left_child: bytes, right_child: bytes) -> bytes:
    """Hash two subtrees together: SHA-256 of the byte 0x01 and both hashes."""
    return hashlib.sha256(b"\x01" + left_child + right_child).digest()


class EvidenceTree:
    """Merkle tree over the observations of a rating, to which leaves are appended."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, bytes]] = []  # complete subtrees as (number of leaves, hash), largest first
        self.size = 0

    def append(self, observation: Mapping[str, Any]) -> None:
        """Add one observation as the next leaf of the Merkle tree, and join complete subtrees of one size."""
        subtree_hash, leaf_count = leaf_hash(canonical_json(observation)), 1
        while self._stack and self._stack[-1][0] == leaf_count:  # as large as the subtree to its left
            _, sibling_hash = self._stack.pop()
            subtree_hash, leaf_count = node_hash(sibling_hash, subtree_hash), leaf_count * 2
        self._stack.append((leaf_count, subtree_hash))
        self.size += 1

    def head(self) -> str:
        """Return the head of the tree over all observations appended so far, as ``sha256:…``."""
        if not self._stack:
            return "sha256:" + hashlib.sha256(b"").hexdigest()  # of an empty tree (RFC 9162, section 2.1.1)
        *larger_subtrees, (_, root_hash) = self._stack  # complete subtrees, as (number of leaves, hash)
        for _, sibling_hash in reversed(larger_subtrees):  # from the smallest to the largest
            root_hash = node_hash(sibling_hash, root_hash)
        return "sha256:" + root_hash.hex()
