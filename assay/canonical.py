"""Seals: one way to write JSON, and digests over it that anyone can recompute.

Canonical JSON is sorted, without blanks, in UTF-8, and refuses NaN and infinity. The evidence
of a rating is sealed by the head of a Merkle tree over its observations (RFC 9162, section 2.1),
so that a single observation can be disclosed and proved without the others. The tree is fed
leaf by leaf and keeps one hash per level: memory grows with the logarithm of the evidence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Write `value` in the one form that digests are taken of.

    Raises
    ------
    ValueError
        If it holds NaN or an infinity, which JSON has no word for.
    """
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return written.encode("utf-8", "surrogatepass")


def digest_of(value: Any) -> str:
    """``sha256:…`` of the canonical JSON of `value`."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


STANDING = frozenset({"visibility", "withdrawn", "next_methodology", "reply"})
"""Parts of a rating's document that tell how it stands today. What was sealed is the rest, which never changes."""


def sealed_part(document: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of a rating's document what tells how it stands today."""
    return {name: value for name, value in document.items() if name not in STANDING}


def rating_digest(document: Mapping[str, Any]) -> str:
    """Digest of what was sealed of a rating: the same for its document as stored and as shown on any day."""
    return digest_of(sealed_part(document))


def target_digest(descriptor: Mapping[str, Any]) -> str:
    """Digest by which a target is known: what it is and where, never its secret or its limits."""
    return digest_of({key: descriptor[key] for key in ("kind", "protocol", "url", "settings") if key in descriptor})


class EvidenceTree:
    """Merkle tree over observations, built as they come (RFC 9162, section 2.1.1)."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, bytes]] = []  # (leaves below, hash), largest first
        self.size = 0

    def append(self, observation: Mapping[str, Any]) -> None:
        """Add one observation as the next leaf."""
        node, leaves = hashlib.sha256(b"\x00" + canonical_json(observation)).digest(), 1
        while self._stack and self._stack[-1][0] == leaves:
            _, left = self._stack.pop()
            node, leaves = hashlib.sha256(b"\x01" + left + node).digest(), leaves * 2
        self._stack.append((leaves, node))
        self.size += 1

    def head(self) -> str:
        """``sha256:…`` of everything appended so far."""
        if not self._stack:
            return "sha256:" + hashlib.sha256(b"").hexdigest()
        node = self._stack[-1][1]
        for _, left in reversed(self._stack[:-1]):
            node = hashlib.sha256(b"\x01" + left + node).digest()
        return "sha256:" + node.hex()
