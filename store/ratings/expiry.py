"""Notices about ratings that expire soon and about changed letters.

Each notice is sent once: it belongs to the rating's job, and a job has at most one notice of a kind.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, or_, select

from assay.document import JsonObject
from assay.rating.difference import RatingDifference, difference
from store.core.columns import iso, now_ms
from store.core.rows import all_rows
from store.jobs.tables import jobs
from store.ratings.ratings import NEWEST_FIRST, StoredRating, Summary
from store.ratings.tables import ratings, service_ratings
from store.webhooks.outbox import add_notice
from store.webhooks.tables import outbox

EXPIRING, CHANGED = "rating.expiring", "rating.changed"

BATCH = 200
"""Maximum number of notices written in one transaction."""

MOST_LOOKED_AT = 20
"""Maximum number of earlier ratings of an address that are searched for the same service (target digest)."""

_later = ratings.alias("later")


def expiring(c: Connection, within_s: float, limit: int) -> list[Summary]:
    """List ratings that expire within `within_s` seconds, have no successor and were not announced.

    The successor of a rating is a later rating (`_later`) of the same tenant, address (uploads: service), method and
    attribute. Withdrawn ratings are neither listed nor successors.
    """
    same_series = and_(*(_later.c[name] == ratings.c[name] for name in ("tenant", "target_url", "method", "attribute")))
    service_query = select(service_ratings.c.service)
    own_service, later_service = (
        service_query.where(service_ratings.c.rating_id == table.c.id).correlate(table).scalar_subquery()
        for table in (ratings, _later)
    )
    is_same_upload = or_(ratings.c.target_url != "", own_service == later_service)  # uploads have no address
    is_newer = or_(
        _later.c.created_at > ratings.c.created_at,
        and_(_later.c.created_at == ratings.c.created_at, _later.c.id > ratings.c.id),
    )
    successors = select(_later.c.id).where(same_series, is_same_upload, is_newer, _later.c.withdrawn_at.is_(None))
    is_announced = select(outbox.c.id).where(outbox.c.job_id == ratings.c.job_id, outbox.c.kind == EXPIRING).exists()
    query = (
        select(*(ratings.c[name] for name in Summary.__dataclass_fields__))
        .where(ratings.c.expires_at > now_ms(), ratings.c.expires_at <= now_ms() + round(within_s * 1000))
        .where(ratings.c.withdrawn_at.is_(None), ~successors.exists(), ~is_announced)
        .order_by(ratings.c.expires_at, ratings.c.id)
        .limit(limit)
    )
    return all_rows(c, query, Summary)


def announce_expiring(c: Connection, expiring_ratings: Sequence[Summary]) -> None:
    """Write the notices about ratings that expire soon. The caller prevents concurrent calls."""
    for rating in expiring_ratings:
        add_notice(c, rating.job_id, EXPIRING, _notice_facts(rating) | {"expires_at": iso(rating.expires_at)})


def announce_letter_change(c: Connection, rating: StoredRating, experiment: object) -> RatingDifference | None:
    """Announce that a new rating has another letter than its predecessor, if the difference is significant.

    Call it in the transaction that stores the rating. `experiment` is that of the rating's job; only a rating
    with an equal experiment is its predecessor. Return the difference; ``None`` if there is no predecessor, if
    either letter is not declared, or if the letters are equal or may differ by chance.
    """
    predecessor = _predecessor(c, rating, experiment) if rating.declared else None
    if predecessor is None or not predecessor.declared or predecessor.letter == rating.letter:
        return None
    rating_difference = difference(predecessor.rating, rating.rating)
    if not rating_difference.changed:
        return None
    facts = _notice_facts(rating) | {
        "before": {"rating_id": predecessor.id, "letter": predecessor.letter, "rated_at": iso(predecessor.created_at)},
        "after": {"rating_id": rating.id, "letter": rating.letter, "rated_at": iso(rating.created_at)},
        "probability": rating_difference.letter.probability,
        "also_differed": list(dict.fromkeys(input_difference.what for input_difference in rating_difference.inputs)),
    }
    add_notice(c, rating.job_id, CHANGED, facts)
    return rating_difference


def _notice_facts(rating: Summary) -> JsonObject:
    return rating.notice | {"method": rating.method, "attribute": rating.attribute}


def _predecessor(c: Connection, rating: StoredRating, experiment: object) -> StoredRating | None:
    """Read the newest earlier rating of the same service by an equal experiment; return ``None`` if there is none."""
    earlier_ratings = (
        select(ratings.c.id, ratings.c.target)
        .join(jobs, jobs.c.id == ratings.c.job_id)
        .where(ratings.c.tenant == rating.tenant, ratings.c.target_url == rating.target_url, ratings.c.id != rating.id)
        .where(ratings.c.method == rating.method, ratings.c.attribute == rating.attribute)
        # experiments of equal requests differ if other held-back material was drawn
        .where(or_(jobs.c.experiment == experiment, ratings.c.request_digest == rating.request_digest))
        .where(ratings.c.withdrawn_at.is_(None))
        .order_by(*NEWEST_FIRST)
        .limit(MOST_LOOKED_AT)
    )
    digest = rating.target.get("digest")
    ids_of_same_service = (row.id for row in c.execute(earlier_ratings) if row.target.get("digest") == digest)
    if (predecessor_id := next(ids_of_same_service, None)) is None:
        return None
    return StoredRating(**c.execute(select(ratings).where(ratings.c.id == predecessor_id)).mappings().one())
