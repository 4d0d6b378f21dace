"""The transparency log as others see it. Hashes are written ``sha256:…``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from service.http.openapi.common_schemas import Instant, Told, instant
from service.http.pagination import MAX_ROWS
from store.ratings.log import Consistency, Inclusion, LogEntry, TreeHead

Count = Annotated[int, Field(ge=0, le=2**53)]
OneOrMore = Annotated[int, Field(ge=1, le=2**53)]


def written(digest: bytes) -> str:
    """Write a hash as everywhere else."""
    return "sha256:" + digest.hex()


class EntriesQuery(BaseModel):
    """Which entries of the log."""

    model_config = ConfigDict(extra="forbid")

    start: Annotated[Count, Field(description="Position of the first.")] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS, description=f"Entries a page, 1 to {MAX_ROWS}.")] = 50
    rating: Annotated[str | None, Field(max_length=100, description="Only those of this rating.")] = None


class InclusionQuery(BaseModel):
    """Which entry is proved to be in which tree."""

    model_config = ConfigDict(extra="forbid")

    position: Annotated[Count, Field(description="The entry's.")]
    size: Annotated[OneOrMore | None, Field(description="Entries of the tree; left out, the whole log.")] = None


class ConsistencyQuery(BaseModel):
    """Which tree is proved to be the beginning of which."""

    model_config = ConfigDict(extra="forbid")

    first: Annotated[OneOrMore, Field(description="Entries of the older tree.")]
    second: Annotated[OneOrMore | None, Field(description="Entries of the newer; left out, the whole log.")] = None


class HeadView(Told):
    """The log at this moment."""

    origin: str
    """The log's name."""
    size: int
    root: str
    """Head of the Merkle tree over all entries (RFC 9162)."""
    key_id: str
    """The key that signed; it is at `/.well-known/jwks.json`."""
    checkpoint: str
    """The same as a signed note (C2SP tlog-checkpoint). Keep it: a later log must prove to begin with it."""


class EntryView(Told):
    """One entry. Its leaf is the hash of a zero byte and the canonical JSON of `entry`."""

    position: int
    event: Literal["published", "withdrawn"]
    entry: dict[str, Any]
    leaf: str
    logged_at: Instant

    @classmethod
    def of(cls, kept: LogEntry) -> Self:
        """Show an entry."""
        return cls.model_validate(
            {
                "position": kept.position,
                "event": kept.event,
                "entry": kept.entry,
                "leaf": written(kept.leaf),
                "logged_at": instant(kept.logged_at),
            }
        )


class EntryList(Told):
    """Entries in the order in which they were logged."""

    items: list[EntryView]
    next_start: int | None
    """Where to go on; null at the end of the log as it is now."""

    @classmethod
    def of(cls, rows: Sequence[LogEntry], limit: int) -> Self:
        """Cut a page from entries that were asked for with ``limit + 1``."""
        more = rows[limit].position if len(rows) > limit else None
        return cls(items=[EntryView.of(row) for row in rows[:limit]], next_start=more)


class TreeView(Told):
    """A tree of the log's first entries."""

    size: int
    root: str

    @classmethod
    def of(cls, head: TreeHead) -> Self:
        """Show a tree's head."""
        return cls(size=head.size, root=written(head.root))


class InclusionView(Told):
    """Proof that an entry is in a tree (RFC 9162, section 2.1.3)."""

    position: int
    leaf: str
    tree: TreeView
    path: list[str]
    """Hashes to join with the leaf, from below; the result is the tree's root."""

    @classmethod
    def of(cls, proof: Inclusion) -> Self:
        """Show a proof."""
        path = [written(step) for step in proof.path]
        return cls(position=proof.position, leaf=written(proof.leaf), tree=TreeView.of(proof.head), path=path)


class ConsistencyView(Told):
    """Proof that the log only grew between two trees (RFC 9162, section 2.1.4)."""

    first: TreeView
    second: TreeView
    path: list[str]

    @classmethod
    def of(cls, proof: Consistency) -> Self:
        """Show a proof."""
        path = [written(step) for step in proof.path]
        return cls(first=TreeView.of(proof.first), second=TreeView.of(proof.second), path=path)
