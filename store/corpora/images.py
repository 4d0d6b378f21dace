"""Image files, addressed by content: each file is stored once per tenant.

A tenant can read its own images, and images that their owner, another tenant, has put into a shared corpus.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, select

from store.core.columns import now_ms
from store.core.engines import chunks, insert_into
from store.core.rows import one_row
from store.corpora.tables import corpora, corpus_items, images
from store.formats.image import ImageFacts
from store.quota import quota


@dataclass(frozen=True)
class StoredImage:
    """A stored image: its file and media type."""

    digest: str
    media_type: str
    content: bytes = field(repr=False)


def keep(c: Connection, tenant: str, content: bytes, facts: ImageFacts) -> bool:
    """Store an image with the result of `read_image`, unless the tenant has it already; return whether it is new."""
    row = {"tenant": tenant, **asdict(facts), "size": len(content), "content": content, "created_at": now_ms()}
    statement = insert_into(c, images).values(row).on_conflict_do_nothing()
    is_new = c.execute(statement.returning(images.c.digest)).one_or_none() is not None
    if is_new:
        quota.add_size(c, images, tenant, images.c.tenant == tenant, images.c.digest == facts.digest)
    return is_new


def find(c: Connection, digest: str, tenant: str) -> StoredImage | None:
    """Read an image that a tenant may see: its own, or an image in a shared corpus; ``None`` for any other digest."""
    query: Select[Any] = select(images.c.digest, images.c.media_type, images.c.content).where(images.c.digest == digest)
    own_image = one_row(c, query.where(images.c.tenant == tenant), StoredImage)
    # several owners may share the same image
    return own_image or one_row(c, _limit_to_shared(query).limit(1), StoredImage)


def missing(c: Connection, digests: Sequence[str], tenant: str) -> list[str]:
    """Return the digests of images that do not exist or that a tenant may not see, in the given order."""
    visible_digests: set[str] = set()
    for batch in chunks(digests):
        query_any_owner: Select[Any] = select(images.c.digest).where(images.c.digest.in_(batch))
        visible_digests.update(c.execute(query_any_owner.where(images.c.tenant == tenant)).scalars())
        unseen_digests = [digest for digest in batch if digest not in visible_digests]
        if unseen_digests:
            query_unseen: Select[Any] = select(images.c.digest).where(images.c.digest.in_(unseen_digests))
            visible_digests.update(c.execute(_limit_to_shared(query_unseen)).scalars())
    return [digest for digest in digests if digest not in visible_digests]


def thumbnails(c: Connection, digests: Sequence[str], tenant: str) -> dict[str, str]:
    """Read the thumbnails of images that a tenant may see, by digest; others are left out."""
    thumbnail_of: dict[str, str] = {}
    for batch in chunks(digests):
        base_query: Select[Any] = select(images.c.digest, images.c.thumbnail)
        base_query = base_query.where(images.c.digest.in_(batch), images.c.thumbnail.is_not(None))
        # the tenant's own images come second, and replace equal ones of other tenants
        for query in (_limit_to_shared(base_query), base_query.where(images.c.tenant == tenant)):
            thumbnail_of.update({row.digest: row.thumbnail for row in c.execute(query)})
    return thumbnail_of


def _limit_to_shared(query: Select[Any]) -> Select[Any]:
    """Limit a query to images that their owner has added to a shared corpus."""
    return query.where(
        select(corpus_items.c.id)
        .join(corpora, corpora.c.id == corpus_items.c.corpus_id)
        .where(
            corpora.c.tenant == images.c.tenant,
            corpora.c.visibility == "shared",
            corpora.c.removed_at.is_(None),
            corpus_items.c.image == images.c.digest,
            corpus_items.c.removed_at.is_(None),
        )
        .exists()
    )
