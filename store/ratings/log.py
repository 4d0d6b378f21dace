"""Transparency log of published and withdrawn ratings: an append-only Merkle tree (RFC 9162, section 2.1).

An entry is written in the transaction that publishes or withdraws its rating. Rows are never changed or
deleted. The hashes of complete subtrees are stored too, so that an append, the head and every proof read a
number of rows that grows with the logarithm of the log.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, func, insert, select, tuple_

from assay.canonical import canonical_json, leaf_hash, node_hash
from assay.document import JsonObject
from assay.evidence.merkle import Span, consistency_spans, inclusion_spans, nodes_of, span_head
from store.core.columns import iso, read_clock
from store.core.engines import lock_transaction
from store.core.errors import BeyondTheLog
from store.core.rows import all_rows, equal
from store.ratings.tables import log_entries, log_nodes

LOG_LOCK = 0x6C6F67
"""Key of the Postgres advisory lock for appending to the log, so that positions have no gaps."""

Event = Literal["published", "withdrawn"]


@dataclass(frozen=True)
class LogEntry:
    """An entry of the log.

    `position` counts from 0, without gaps. The canonical JSON of `entry`, the logged facts, is the leaf's content;
    `leaf` is its hash of 32 bytes. `logged_at` is in milliseconds since 1970.
    """

    position: int
    rating_id: str
    event: str
    entry: JsonObject
    leaf: bytes
    logged_at: int


@dataclass(frozen=True)
class TreeHead:
    """Head of the log: its number of entries and the root hash (32 bytes)."""

    size: int
    root: bytes


@dataclass(frozen=True)
class Inclusion:
    """Inclusion proof: hashes from the leaf up that show that an entry is in the tree of `head`."""

    position: int
    leaf: bytes
    head: TreeHead
    path: tuple[bytes, ...]


@dataclass(frozen=True)
class Consistency:
    """Consistency proof: hashes that show that the tree of `second` extends the tree of `first`."""

    first: TreeHead
    second: TreeHead
    path: tuple[bytes, ...]


def append(c: Connection, rating_id: str, event: Event, facts: JsonObject) -> LogEntry:
    """Append an entry, and lock the log until the transaction ends.

    Call it in the transaction that publishes or withdraws the rating. `facts` are public facts about the rating.
    """
    lock_transaction(c, LOG_LOCK)
    now, position = read_clock(c), size(c)
    entry = {"rating": rating_id, "event": event, "logged_at": iso(now), **facts}
    leaf = leaf_hash(canonical_json(entry))
    new_entry = LogEntry(position, rating_id, event, entry, leaf, now)
    c.execute(insert(log_entries).values(vars(new_entry)))
    _add_nodes(c, position, leaf)
    return new_entry


def size(c: Connection) -> int:
    """Return the number of entries of the log."""
    last_position = c.execute(select(func.max(log_entries.c.position))).scalar_one_or_none()
    return 0 if last_position is None else int(last_position) + 1


def age_s(c: Connection, position: int) -> float:
    """Return the seconds since an entry was logged; 0 if there is none at this position."""
    query = select(log_entries.c.logged_at).where(log_entries.c.position == position)
    logged_at = c.execute(query).scalar_one_or_none()
    return 0.0 if logged_at is None else (read_clock(c) - logged_at) / 1000


def head(c: Connection, of_size: int | None = None) -> TreeHead:
    """Compute the head of the log, or of its first `of_size` entries.

    Raise `BeyondTheLog` if the log has fewer than `of_size` entries.
    """
    tree_size = _checked_size(c, of_size, name="size")
    return TreeHead(tree_size, _roots(c, [(0, tree_size)])[0])  # of the span from entry 0 to the end


def entries(c: Connection, start: int, limit: int, *, rating_id: str | None = None) -> list[LogEntry]:
    """List entries from position `start`, optionally of one rating."""
    query = select(log_entries).where(log_entries.c.position >= start, *equal(log_entries, rating_id=rating_id))
    return all_rows(c, query.order_by(log_entries.c.position).limit(limit), LogEntry)


def inclusion(c: Connection, position: int, of_size: int | None = None) -> Inclusion:
    """Prove that an entry is among the first `of_size` entries (default: in the whole log).

    Raise `BeyondTheLog` if the log has fewer than `of_size` entries, or the entry is not among these.
    """
    tree_size = _checked_size(c, of_size, name="size")
    if position >= tree_size:
        raise BeyondTheLog("position", position, tree_size - 1)
    root, leaf, *path = _roots(c, [(0, tree_size), (position, position + 1), *inclusion_spans(position, tree_size)])
    return Inclusion(position, leaf, TreeHead(tree_size, root), tuple(path))


def consistency(c: Connection, first: int, second: int | None = None) -> Consistency:
    """Prove that the log of `second` entries (default: the whole log) extends the log of `first` entries.

    Raise `BeyondTheLog` if the log has fewer than `second` entries, or `first` is greater than `second`.
    """
    tree_size = _checked_size(c, second, name="second")
    if first > tree_size:
        raise BeyondTheLog("first", first, tree_size)
    older_root, newer_root, *path = _roots(c, [(0, first), (0, tree_size), *consistency_spans(first, tree_size)])
    return Consistency(TreeHead(first, older_root), TreeHead(tree_size, newer_root), tuple(path))


def _checked_size(c: Connection, requested_size: int | None, name: str) -> int:
    log_size = size(c)
    if requested_size is not None and requested_size > log_size:
        raise BeyondTheLog(name, requested_size, log_size)
    return log_size if requested_size is None else requested_size


def _add_nodes(c: Connection, position: int, leaf: bytes) -> None:
    """Insert the new leaf and the hashes of every subtree that it completes."""
    # trailing 1 bits of `position`: their number is the number of subtrees that the leaf completes
    completed_levels = (~position & (position + 1)).bit_length() - 1
    left_siblings = [(level, (position >> level) - 1) for level in range(completed_levels)]
    hashes, node = _read_nodes(c, left_siblings), leaf
    rows = [{"level": 0, "place": position, "hash": leaf}]
    for level, sibling in enumerate(left_siblings):
        node = node_hash(hashes[sibling], node)
        rows.append({"level": level + 1, "place": position >> (level + 1), "hash": node})
    c.execute(insert(log_nodes), rows)


def _roots(c: Connection, spans: Sequence[Span]) -> list[bytes]:
    """Compute the root hash of each span of leaves; the stored nodes are read in one statement."""
    hashes = _read_nodes(c, {node for span in spans for node in nodes_of(span)})
    return [span_head(span, lambda level, index: hashes[level, index]) for span in spans]


def _read_nodes(c: Connection, nodes: Iterable[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
    """Read the hashes of nodes, given by their levels and their places within the levels."""
    levels_and_places = list(nodes)
    if not levels_and_places:
        return {}
    query = select(log_nodes).where(tuple_(log_nodes.c.level, log_nodes.c.place).in_(levels_and_places))
    return {(row.level, row.place): row.hash for row in c.execute(query)}
