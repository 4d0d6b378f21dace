"""Visibility and withdrawal of ratings.

A private or unlisted rating can get any visibility. A public rating stays public, because others rely on it; it
can only be withdrawn, with a reason that stays visible. Publications and withdrawals of public ratings are logged
(`store.ratings.log`). The rating's tenant is notified when others can read it for the first time, and when it
is withdrawn (`store.webhooks.outbox`).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select, update

from assay.canonical import rating_digest
from assay.methods import method_of
from store.core.clock import iso, read_clock
from store.core.errors import AlreadyWithdrawn, HoldsPeople, PublishedForGood
from store.core.rows import one_row
from store.ratings import log
from store.ratings.ratings import StoredRating
from store.ratings.tables import ratings
from store.webhooks.outbox import announce_once

PUBLISHED, WITHDRAWN = "rating.published", "rating.withdrawn"

TARGET = ("name", "kind", "protocol", "url", "digest")
"""Fields of a target that are logged; its settings are only in the rating."""


def set_visibility(c: Connection, rating_id: str, tenant: str, visibility: str) -> StoredRating | None:
    """Make a rating ``private``, ``unlisted`` or ``public``; return ``None`` if the tenant has no such rating.

    Raises
    ------
    PublishedForGood
        If a public rating would become private or unlisted.
    HoldsPeople
        If it is never published (`assay.experiment.Method.private`).
    AlreadyWithdrawn
        If it was withdrawn and the visibility would change.
    """
    rating = _locked(c, rating_id, tenant)
    if rating is None or rating.visibility == visibility:
        return rating
    if method_of(rating.document).private:
        raise HoldsPeople(rating.id)
    if rating.withdrawn_at is not None:
        raise AlreadyWithdrawn(rating.id)
    if rating.visibility == "public":
        raise PublishedForGood(rating.id, visibility)
    changed = _change(c, rating.id, visibility=visibility)
    note_published(c, changed)
    return changed


def withdraw(c: Connection, rating_id: str, tenant: str, reason: str) -> StoredRating | None:
    """Withdraw a tenant's rating with a reason; return ``None`` if the tenant has no such rating.

    The rating and its evidence stay readable.

    Raises
    ------
    AlreadyWithdrawn
        If it was withdrawn before.
    """
    rating = _locked(c, rating_id, tenant)
    if rating is None:
        return None
    if rating.withdrawn_at is not None:
        raise AlreadyWithdrawn(rating.id)
    withdrawn = _change(c, rating.id, withdrawn_at=read_clock(c), withdrawn_why=reason)
    if withdrawn.visibility == "public":  # the withdrawal of a private rating must not make it public
        log.append(c, withdrawn.id, "withdrawn", _facts(withdrawn) | {"reason": reason})
    announce_once(
        c, withdrawn.job_id, WITHDRAWN, withdrawn.notice | {"visibility": withdrawn.visibility, "reason": reason}
    )
    return withdrawn


def note_published(c: Connection, rating: StoredRating) -> None:
    """Log a rating if it is public now, and announce it if others can read it.

    Call it in the transaction that changes the visibility. A rating is announced at most once.
    """
    if rating.visibility == "public":
        log.append(c, rating.id, "published", _facts(rating))
    if rating.visibility != "private":
        announce_once(c, rating.job_id, PUBLISHED, rating.notice | {"visibility": rating.visibility})


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


def _locked(c: Connection, rating_id: str, tenant: str) -> StoredRating | None:
    """Read a tenant's rating and lock it until the transaction ends."""
    query = select(ratings).where(ratings.c.id == rating_id, ratings.c.tenant == tenant).with_for_update()
    return one_row(c, query, StoredRating)


def _change(c: Connection, rating_id: str, **values: Any) -> StoredRating:
    changed = update(ratings).where(ratings.c.id == rating_id).values(**values).returning(ratings)
    return StoredRating(**c.execute(changed).mappings().one())
