"""Who may see a rating, and whether it still stands.

A rating goes from private to unlisted to public. While it is unlisted it may go back: it was never listed.
Once it is public others have relied on it, so it can only be withdrawn, with a reason that stays beside it.
What the public could see, and can no longer rely on, is written to the log (`store.ratings.log`). The rating's
own tenant is told when others can read it for the first time, and when it is withdrawn (`store.webhooks.outbox`).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select, update

from assay.canonical import rating_digest
from store.core.clock import iso, read_clock
from store.core.errors import AlreadyWithdrawn, PublishedForGood
from store.core.schema import ratings
from store.ratings import log
from store.ratings.ratings import StoredRating
from store.webhooks.outbox import announce_once

PUBLISHED, WITHDRAWN = "rating.published", "rating.withdrawn"

TARGET = ("name", "kind", "protocol", "url", "digest")
"""Parts of a target that are logged; its settings are in the rating itself."""


def set_visibility(c: Connection, rating_id: str, tenant: str, visibility: str) -> StoredRating | None:
    """Publish a rating, or say otherwise who may see it.

    Parameters
    ----------
    c : Connection
        A transaction.
    rating_id, tenant : str
        Which rating; only its own tenant may.
    visibility : str
        ``private``, ``unlisted`` or ``public``.

    Returns
    -------
    StoredRating or None
        As it is now; ``None`` where the tenant has no such rating.

    Raises
    ------
    PublishedForGood
        If it is public and would be hidden.
    AlreadyWithdrawn
        If it was withdrawn, and is not as visible as asked for.
    """
    rating = _hold(c, rating_id, tenant)
    if rating is None or rating.visibility == visibility:
        return rating
    if rating.withdrawn_at is not None:
        raise AlreadyWithdrawn(rating.id)
    if rating.visibility == "public":
        raise PublishedForGood(rating.id, visibility)
    changed = _change(c, rating.id, visibility=visibility)
    note_published(c, changed)
    return changed


def withdraw(c: Connection, rating_id: str, tenant: str, reason: str) -> StoredRating | None:
    """Say that a rating no longer stands, and why. It stays readable, and its evidence too.

    Returns
    -------
    StoredRating or None
        As it is now; ``None`` where the tenant has no such rating.

    Raises
    ------
    AlreadyWithdrawn
        If it was withdrawn before.
    """
    rating = _hold(c, rating_id, tenant)
    if rating is None:
        return None
    if rating.withdrawn_at is not None:
        raise AlreadyWithdrawn(rating.id)
    withdrawn = _change(c, rating.id, withdrawn_at=read_clock(c), withdrawn_why=reason)
    if withdrawn.visibility == "public":  # what was never public must not come to light by its end
        log.append(c, withdrawn.id, "withdrawn", _facts(withdrawn) | {"reason": reason})
    announce_once(c, withdrawn.job_id, WITHDRAWN, _told(withdrawn) | {"reason": reason})
    return withdrawn


def note_published(c: Connection, rating: StoredRating) -> None:
    """Log a rating that became public and announce one that others can read, in the transaction that made it so.

    A private rating is left alone; one that was announced before is not announced again.
    """
    if rating.visibility == "public":
        log.append(c, rating.id, "published", _facts(rating))
    if rating.visibility != "private":
        announce_once(c, rating.job_id, PUBLISHED, _told(rating))


def _told(rating: StoredRating) -> dict[str, Any]:
    return {
        "job_id": rating.job_id,
        "target_url": rating.target_url,
        "rating_id": rating.id,
        "letter": rating.letter,
        "declared": rating.declared,
        "visibility": rating.visibility,
    }


def _facts(rating: StoredRating) -> dict[str, Any]:
    return {
        "document_digest": rating_digest(rating.document),
        "target": {name: rating.target[name] for name in TARGET if name in rating.target},
        "method": rating.method,
        "attribute": rating.attribute,
        "letter": rating.letter,
        "declared": rating.declared,
        "methodology_version": rating.methodology_version,
        "rated_at": iso(rating.created_at),
        "expires_at": iso(rating.expires_at),
    }


def _hold(c: Connection, rating_id: str, tenant: str) -> StoredRating | None:
    """Read a tenant's rating and let nobody else change it until the transaction ends."""
    mine = select(ratings).where(ratings.c.id == rating_id, ratings.c.tenant == tenant).with_for_update()
    row = c.execute(mine).mappings().one_or_none()
    return None if row is None else StoredRating(**row)


def _change(c: Connection, rating_id: str, **values: Any) -> StoredRating:
    changed = update(ratings).where(ratings.c.id == rating_id).values(**values).returning(ratings)
    return StoredRating(**c.execute(changed).mappings().one())
