"""Merkle trees (RFC 9162): heads, inclusion proofs and consistency proofs.

A tree is given by the hashes of its complete subtrees: node ``(level, index)`` covers the ``2**level``
leaves from ``index * 2**level`` on. The caller supplies the hashes from a list or a table, so that a proof over a
million leaves reads forty hashes.
"""

import hashlib
from collections.abc import Callable, Sequence

from assay.canonical import leaf_hash, node_hash  # noqa: F401  users import `leaf_hash` from here (docs/registry.md)

HASH_BYTES = 32

EMPTY_HEAD = hashlib.sha256(b"").digest()
"""Head of a tree without leaves."""

Node = Callable[[int, int], bytes]
"""Function that returns the hash of the complete subtree ``(level, index)``; level 0 is the leaves."""

Span = tuple[int, int]
"""Half-open range of leaves: from the first number up to, but not including, the second."""


def nodes_from(leaves: Sequence[bytes]) -> Node:
    """Hash all complete subtrees over `leaves`; return a function that returns a subtree's hash by level and index."""
    levels: list[list[bytes]] = [list(leaves)]
    while len(levels[-1]) > 1:
        children = levels[-1]
        levels.append([node_hash(children[index], children[index + 1]) for index in range(0, len(children) - 1, 2)])
    return lambda level, index: levels[level][index]


def nodes_of(span: Span) -> list[tuple[int, int]]:
    """List the complete subtrees that make up a span (range of leaves) of a tree, left to right.

    The span is ``(0, size)``, or one that `inclusion_spans` or `consistency_spans` returned. Each subtree is
    ``(level, index in its level)``; there is at most one per level, the highest level first.
    """
    start, stop = span
    nodes = []
    while start < stop:
        level = (stop - start).bit_length() - 1  # of the largest complete subtree that fits
        nodes.append((level, start >> level))
        start += 1 << level
    return nodes


def span_head(span: Span, node: Node) -> bytes:
    """Compute the hash of a span of leaves from its complete subtrees (see `nodes_of`)."""
    subtree_hashes = [node(level, index) for level, index in nodes_of(span)]
    if not subtree_hashes:
        return EMPTY_HEAD
    head = subtree_hashes.pop()
    while subtree_hashes:
        head = node_hash(subtree_hashes.pop(), head)
    return head


def head(leaves: Sequence[bytes]) -> bytes:
    """Compute a tree's head from its leaf hashes; `EMPTY_HEAD` if there are none."""
    return span_head((0, len(leaves)), nodes_from(leaves))


def inclusion_spans(index: int, size: int) -> list[Span]:
    """List the spans whose hashes prove that leaf `index` is in a tree of `size` leaves (RFC 9162, section 2.1.3.1).

    They are in the order of the proof, from the leaf up. Raise `IndexError` if the tree has no such leaf.
    """
    if not 0 <= index < size:
        raise IndexError(f"a tree of {size} leaves has no leaf {index}")
    start, stop = 0, size
    spans: list[Span] = []
    while stop - start > 1:
        middle = start + _left_size(stop - start)
        if index < middle:
            spans.append((middle, stop))
            stop = middle
        else:
            spans.append((start, middle))
            start = middle
    return spans[::-1]


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Compute the inclusion proof of the leaf at `index`; raise `IndexError` if there is no such leaf."""
    node = nodes_from(leaves)
    return [span_head(span, node) for span in inclusion_spans(index, len(leaves))]


def proves_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], tree_head: bytes) -> bool:
    """Return whether `proof` shows that `leaf` (a hash) is at `index` of the tree with this size and head.

    The steps are those of section 2.1.3.2 of RFC 9162.
    """
    if not 0 <= index < size:
        return False
    position, last, head = index, size - 1, leaf  # indices of the current and of the last node of a level
    for step in proof:
        if last == 0:
            return False
        if position & 1 or position == last:  # the step is the left sibling
            head = node_hash(step, head)
            while not position & 1 and position:  # levels where the node has no sibling
                position, last = position >> 1, last >> 1
        else:
            head = node_hash(head, step)
        position, last = position >> 1, last >> 1
    return last == 0 and head == tree_head


def consistency_spans(before: int, after: int) -> list[Span]:
    """List the spans whose hashes prove that a tree of `before` leaves grew to `after` (RFC 9162, section 2.1.4.1).

    Raise `IndexError` if `before` is 0 or more than `after`: nothing can be proved then.
    """
    if not 0 < before <= after:
        raise IndexError(f"a tree of {after} leaves did not grow from one of {before}")
    # `is_whole` stays true if the last span is the whole older tree, whose hash the verifier knows
    start, stop, is_whole = 0, after, True
    spans: list[Span] = []
    while before < stop:
        middle = start + _left_size(stop - start)
        if before <= middle:
            spans.append((middle, stop))
            stop = middle
        else:
            spans.append((start, middle))
            start, is_whole = middle, False
    if not is_whole:
        spans.append((start, stop))
    return spans[::-1]


def proves_growth(before: int, after: int, older_head: bytes, head: bytes, proof: Sequence[bytes]) -> bool:
    """Return whether `proof` shows that the tree of `after` leaves begins with the tree of `before` leaves.

    The steps are those of section 2.1.4.2 of RFC 9162. For an empty older tree, the proof must be empty.
    """
    if before == after:
        return not proof and older_head == head
    if not 0 < before < after:
        return before == 0 and after > 0 and not proof and older_head == EMPTY_HEAD
    path = list(proof) if before & (before - 1) else [older_head, *proof]  # a power of two: the older tree is a node
    if not path:
        return False
    position, last = before - 1, after - 1  # indices of the current and of the last node of a level
    while position & 1:
        position, last = position >> 1, last >> 1
    older = newer = path[0]
    for step in path[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:  # the step is the left sibling, in both trees
            older, newer = node_hash(step, older), node_hash(step, newer)
            while not position & 1 and position:  # levels where the node has no sibling
                position, last = position >> 1, last >> 1
        else:
            newer = node_hash(newer, step)
        position, last = position >> 1, last >> 1
    return last == 0 and older == older_head and newer == head


def _left_size(size: int) -> int:
    """Return the largest power of two below `size`, where RFC 9162 splits a tree."""
    return 1 << (size - 1).bit_length() - 1
