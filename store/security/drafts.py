"""Drafts of forms, kept for a day: encrypted texts that a person typed, or a secret that is to be shown once."""

from sqlalchemy import Connection, delete, insert, select

from store.core.columns import SealedSecret, now_ms
from store.core.rows import one_row
from store.security.tables import drafts

KEPT_MS = 24 * 3_600_000

MOST_DRAFTS = 200
"""Maximum number of drafts of a tenant; one more removes the oldest."""

MOST_DELETED = 100
"""Maximum number of expired drafts that a new one deletes: more than one, so that the table shrinks."""


def store(c: Connection, tenant: str, draft_id: str, sealed_secret: SealedSecret) -> None:
    """Store the encrypted draft of a form, in place of a draft with the same id."""
    expired_ids = select(drafts.c.id).where(drafts.c.expires_at <= now_ms()).limit(MOST_DELETED)
    ids_newest_first = select(drafts.c.id).where(drafts.c.tenant == tenant).order_by(drafts.c.expires_at.desc())
    for ids in (expired_ids, ids_newest_first.offset(MOST_DRAFTS - 1).limit(MOST_DELETED)):  # - 1: room for the new one
        c.execute(delete(drafts).where(drafts.c.id.in_(ids)))
    remove(c, tenant, draft_id)
    content = {"ciphertext": sealed_secret.ciphertext, "nonce": sealed_secret.nonce, "key_id": sealed_secret.key_id}
    c.execute(insert(drafts).values(id=draft_id, tenant=tenant, expires_at=now_ms() + KEPT_MS, **content))


def find(c: Connection, tenant: str, draft_id: str) -> SealedSecret | None:
    """Find a draft of a tenant; return ``None`` if there is none, or it has expired."""
    query = select(drafts.c.ciphertext, drafts.c.nonce, drafts.c.key_id)
    is_valid = (drafts.c.id == draft_id, drafts.c.tenant == tenant, drafts.c.expires_at > now_ms())
    return one_row(c, query.where(*is_valid), SealedSecret)


def remove(c: Connection, tenant: str, draft_id: str) -> None:
    """Remove a draft of a tenant."""
    c.execute(delete(drafts).where(drafts.c.id == draft_id, drafts.c.tenant == tenant))
