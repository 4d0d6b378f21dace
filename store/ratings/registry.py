"""Visibility and withdrawal of ratings.

A private or unlisted rating can get any visibility. A public rating stays public, because others rely on it; it
can only be withdrawn, with a reason that stays visible. Publications and withdrawals of public ratings are logged
(`store.ratings.log`). The rating's tenant is notified when others can read it for the first time, and when it
is withdrawn (`store.webhooks.outbox`).
"""

from typing import Any

from sqlalchemy import Connection, select, update

from assay.canonical import rating_digest
from assay.document import Json, JsonObject
from assay.methods import method_of
from store.core.columns import iso, read_clock
from store.core.engines import lock_transaction
from store.core.errors import AlreadyWithdrawn, HoldsPeople, PublishedForGood
from store.core.rows import equal, one_row
from store.ratings import log, standing
from store.ratings.ratings import StoredRating
from store.ratings.tables import ratings, service_ratings
from store.webhooks.outbox import add_notice_once

PUBLISHED, WITHDRAWN = "rating.published", "rating.withdrawn"

LOGGED_TARGET_FIELDS = ("name", "kind", "protocol", "url", "digest")
"""Fields of a target that are logged; its settings are only in the rating."""


def set_visibility(c: Connection, rating_id: str, tenant: str, visibility: str) -> StoredRating | None:
    """Make a rating ``private``, ``unlisted`` or ``public``; return ``None`` if the tenant has no such rating.

    Raise `PublishedForGood` if a public rating would become private or unlisted, `HoldsPeople` if small counts of
    people are not masked, or could be computed with another rating that others can read, and `AlreadyWithdrawn` if the
    rating was withdrawn and its visibility would change.
    """
    rating = _lock_rating(c, rating_id, tenant)
    if rating is None or rating.visibility == visibility:
        return rating
    if rating.withdrawn_at is not None:
        raise AlreadyWithdrawn(rating.id)
    if rating.visibility == "public":
        raise PublishedForGood(rating.id, visibility)
    if visibility != "private":
        _check_people(c, rating)
    changed_rating = _change_rating(c, rating.id, visibility=visibility)
    note_published(c, changed_rating)
    return changed_rating


def withdraw(c: Connection, rating_id: str, tenant: str, reason: str) -> StoredRating | None:
    """Withdraw a tenant's rating with a reason; return ``None`` if the tenant has no such rating.

    The rating and its evidence stay readable. Raise `AlreadyWithdrawn` if it was withdrawn before.
    """
    rating = _lock_rating(c, rating_id, tenant)
    if rating is None:
        return None
    if rating.withdrawn_at is not None:
        raise AlreadyWithdrawn(rating.id)
    withdrawn_rating = _change_rating(c, rating.id, withdrawn_at=read_clock(c), withdrawn_why=reason)
    if withdrawn_rating.visibility == "public":  # the log is public, and must not name private ratings
        log.append(c, withdrawn_rating.id, "withdrawn", _logged_facts(withdrawn_rating) | {"reason": reason})
    facts = {"visibility": withdrawn_rating.visibility, "reason": reason}
    add_notice_once(c, withdrawn_rating.job_id, WITHDRAWN, withdrawn_rating.notice | facts)
    return withdrawn_rating


JUDGING = frozenset({"attribute", "aggregation", "confidence", "delta", "delta_score", "period"})
"""Fields of an experiment that change how counts are judged, but not the counts."""


def publish_new_rating(c: Connection, rating: StoredRating) -> None:
    """Announce a new public or unlisted rating, or make it private if it would reveal small counts of people."""
    try:
        _check_people(c, rating)
    except HoldsPeople:
        _change_rating(c, rating.id, visibility="private")
    else:
        note_published(c, rating)


def _check_people(c: Connection, rating: StoredRating) -> None:
    """Raise `HoldsPeople` if others could learn small counts of people from a rating, alone or with another rating.

    Small counts are masked, but a rating that counts the same file by other columns could reveal them.
    """
    if not method_of(rating.document).holds_people:
        return
    lock_transaction(c, f"people:{rating.tenant}")  # of two transactions, the later reads the other's rating
    if rating.rating.masked is None:
        raise HoldsPeople(f"the small counts of {rating.id} are not masked: rate fewer columns or intersections")
    file_digest, count_fields = _file_and_count_fields(rating.document)
    query = select(ratings.c.id, ratings.c.document).where(ratings.c.id != rating.id, ratings.c.visibility != "private")
    for row in c.execute(query.where(*equal(ratings, tenant=rating.tenant, method=rating.method))):
        other_digest, other_count_fields = _file_and_count_fields(row.document)
        if other_digest == file_digest and other_count_fields != count_fields:
            raise HoldsPeople(
                f"{row.id} is not private and counts the people of the same file by other columns; the two "
                "together could reveal masked counts. Request one rating with all columns"
            )


def _file_and_count_fields(document: Json) -> tuple[Any, Json]:
    """Return the digest of the file that a rating counts, and its experiment's fields that determine the counts."""
    experiment = document["experiment"]
    return document["aggregation"]["data"]["digest"], {name: experiment[name] for name in experiment.keys() - JUDGING}


def note_published(c: Connection, rating: StoredRating) -> None:
    """Add a rating to the public log if it is public now, and announce it by a notice if others can read it.

    Call it in the transaction that changes the visibility. A rating is announced at most once.
    """
    if rating.visibility == "public":
        log.append(c, rating.id, "published", _logged_facts(rating))
    if rating.visibility != "private":
        add_notice_once(c, rating.job_id, PUBLISHED, rating.notice | {"visibility": rating.visibility})


def _logged_facts(rating: StoredRating) -> JsonObject:
    """Return the facts about a rating that its entry in the public log has."""
    return {
        "document_digest": rating_digest(rating.document),
        "target": {name: rating.target[name] for name in LOGGED_TARGET_FIELDS if name in rating.target},
        "method": rating.method,
        "attribute": rating.attribute,
        "letter": rating.letter,
        "declared": rating.declared,
        "methodology_version": rating.methodology_version,
        "rated_at": iso(rating.created_at),
        "expires_at": iso(rating.expires_at),
    }


def _lock_rating(c: Connection, rating_id: str, tenant: str) -> StoredRating | None:
    """Read a tenant's rating and lock it until the transaction ends; return ``None`` if there is none."""
    query = select(ratings).where(ratings.c.id == rating_id, ratings.c.tenant == tenant).with_for_update()
    return one_row(c, query, StoredRating)


def _change_rating(c: Connection, rating_id: str, **values: object) -> StoredRating:
    """Change columns of a rating, and their copies in `service_ratings` (read for rankings); return the new row."""
    standing.restore_replaced(c, rating_id)  # the rating that this one has replaced may be needed again
    statement = update(ratings).where(ratings.c.id == rating_id).values(**values).returning(ratings)
    copied_values = {name: value for name, value in values.items() if name in service_ratings.c}
    c.execute(update(service_ratings).where(service_ratings.c.rating_id == rating_id).values(**copied_values))
    return StoredRating(**c.execute(statement).mappings().one())
