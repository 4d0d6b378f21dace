"""Schemas of the transparency log. Hashes are written as ``sha256:…``."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from assay.document import JsonObject
from service.http.openapi.common_schemas import Instant, QueryModel, ResponseModel
from service.http.rows import MAX_ROWS

Count = Annotated[int, Field(ge=0, le=2**53)]
OneOrMore = Annotated[int, Field(ge=1, le=2**53)]
Hash = Annotated[str, BeforeValidator(lambda digest: digest_text(digest) if isinstance(digest, bytes) else digest)]
"""A hash as ``sha256:…``; made from its bytes."""


def digest_text(digest: bytes) -> str:
    """Format a hash as ``sha256:…``."""
    return "sha256:" + digest.hex()


class EntriesQuery(QueryModel):
    """Query parameters of the list of entries."""

    start: Annotated[Count, Field(description="Position of the first entry.")] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS, description=f"Entries per page, 1 to {MAX_ROWS}.")] = 50
    rating: Annotated[str | None, Field(max_length=100, description="Only entries of this rating.")] = None


class InclusionQuery(QueryModel):
    """Query parameters of an inclusion proof."""

    position: Annotated[Count, Field(description="Position of the entry.")]
    size: Annotated[OneOrMore | None, Field(description="Size of the tree; by default the whole log.")] = None


class ConsistencyQuery(QueryModel):
    """Query parameters of a consistency proof."""

    first: Annotated[OneOrMore, Field(description="Size of the older tree.")]
    second: Annotated[OneOrMore | None, Field(description="Size of the newer tree; by default the whole log.")] = None


class HeadView(ResponseModel):
    """The current state of the log."""

    origin: str
    """Name of the log."""
    size: int
    root: Hash
    """Root hash of the Merkle tree over all entries (RFC 9162)."""
    key_id: str
    """Id of the signing key, published at `/.well-known/jwks.json`."""
    verifier_key: str
    """The same key in the form in which witnesses are configured (C2SP signed-note, "vkey")."""
    checkpoint: str
    """The same state as a signed note (C2SP tlog-checkpoint). Keep it to check that later states extend this one.
    Cosignatures of witnesses follow the log's own signature."""


class WitnessedLogView(ResponseModel):
    """A log that this agency witnesses."""

    origin: str
    size: int
    """Size of the latest cosigned checkpoint; 0 if there is none."""


class WitnessView(ResponseModel):
    """The agency as a witness of other logs."""

    name: str
    verifier_key: str
    """Key of the witness's cosignatures (C2SP signed-note, "vkey"); its `kid` is at `/.well-known/jwks.json`."""
    logs: list[WitnessedLogView]


class LogEntryView(ResponseModel):
    """One entry of the log. Its leaf is the hash of a zero byte and the canonical JSON of `entry`."""

    position: int
    event: Literal["published", "withdrawn"]
    entry: JsonObject
    leaf: Hash
    logged_at: Instant


class EntryList(ResponseModel):
    """One page of entries, in the order of logging."""

    items: list[LogEntryView]
    next_start: int | None
    """Start of the next page; null at the current end of the log."""


class TreeView(ResponseModel):
    """A Merkle tree of the log's first entries."""

    size: int
    root: Hash


class InclusionView(ResponseModel):
    """Proof that an entry is in a tree (RFC 9162, section 2.1.3)."""

    position: int
    leaf: Hash
    tree: TreeView
    path: list[Hash]
    """Hashes to combine with the leaf, from the bottom up; the result is the root of the tree."""


class ConsistencyView(ResponseModel):
    """Proof that the log only grew between two trees (RFC 9162, section 2.1.4)."""

    first: TreeView
    second: TreeView
    path: list[Hash]
