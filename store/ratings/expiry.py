"""What becomes of ratings with time: they expire, and later ones may show another letter.

Both are announced once: a notice names the rating's job, and there is one of a kind for each job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, or_, select

from assay.rating.difference import Difference, difference
from store.core.clock import iso, now_ms
from store.core.schema import jobs, outbox, ratings
from store.ratings.ratings import StoredRating
from store.webhooks.outbox import announce

EXPIRING, CHANGED = "rating.expiring", "rating.changed"

BATCH = 200
"""Notices that are written in one transaction."""

MOST_LOOKED_AT = 20
"""Earlier ratings of one address that are looked at; services that share an address are told apart by their digest."""

_later = ratings.alias("later")


@dataclass(frozen=True)
class Expiring:
    """A rating that expires soon and has no successor."""

    id: str
    job_id: str
    target_url: str
    method: str
    attribute: str
    letter: str | None
    declared: bool
    expires_at: int


def expiring(c: Connection, within_s: float, limit: int) -> list[Expiring]:
    """Find the newest ratings that expire soon and of which that has not been announced.

    A rating has a successor where the same tenant rated the same address later by the same method for the
    same attribute. Withdrawn ratings neither expire nor succeed.

    Parameters
    ----------
    c : Connection
        Where to read.
    within_s : float
        How soon, in seconds.
    limit : int
        Most ratings to return, those that expire first.
    """
    same = and_(*(_later.c[name] == ratings.c[name] for name in ("tenant", "target_url", "method", "attribute")))
    newer = or_(
        _later.c.created_at > ratings.c.created_at,
        and_(_later.c.created_at == ratings.c.created_at, _later.c.id > ratings.c.id),
    )
    succeeded = select(_later.c.id).where(same, newer, _later.c.withdrawn_at.is_(None)).exists()
    told = select(outbox.c.id).where(outbox.c.job_id == ratings.c.job_id, outbox.c.kind == EXPIRING).exists()
    query = (
        select(*(ratings.c[name] for name in Expiring.__dataclass_fields__))
        .where(ratings.c.expires_at > now_ms(), ratings.c.expires_at <= now_ms() + round(within_s * 1000))
        .where(ratings.c.withdrawn_at.is_(None), ~succeeded, ~told)
        .order_by(ratings.c.expires_at, ratings.c.id)
        .limit(limit)
    )
    return [Expiring(*row) for row in c.execute(query)]


def announce_expiring(c: Connection, found: Sequence[Expiring]) -> None:
    """Write the notices of ratings that expire soon. The caller is the only one who does."""
    for one in found:
        told = {
            "job_id": one.job_id,
            "rating_id": one.id,
            "target_url": one.target_url,
            "method": one.method,
            "attribute": one.attribute,
            "letter": one.letter,
            "declared": one.declared,
            "expires_at": iso(one.expires_at),
        }
        announce(c, one.job_id, (EXPIRING,), told)


def announce_change(c: Connection, rating: StoredRating, experiment: Any) -> Difference | None:
    """Announce that a rating shows another letter than the one before it, if the posteriors say so.

    Parameters
    ----------
    c : Connection
        The transaction that publishes the rating.
    rating : StoredRating
        The new one.
    experiment : mapping or None
        What its job asked; only a rating of the very same experiment is its predecessor.

    Returns
    -------
    Difference or None
        What was announced. ``None`` where there is no earlier rating, where one of the two is not declared, or
        where the letters are the same or may differ by chance.
    """
    before = _predecessor(c, rating, experiment) if rating.declared else None
    if before is None or not before.declared or before.letter == rating.letter:
        return None
    found = difference(before.document, rating.document)
    if not found.changed:
        return None
    told = {
        "job_id": rating.job_id,
        "rating_id": rating.id,
        "target_url": rating.target_url,
        "method": rating.method,
        "attribute": rating.attribute,
        "letter": rating.letter,
        "declared": rating.declared,
        "before": {"rating_id": before.id, "letter": before.letter, "rated_at": iso(before.created_at)},
        "after": {"rating_id": rating.id, "letter": rating.letter, "rated_at": iso(rating.created_at)},
        "probability": found.letter.probability,
        "also_differed": list(dict.fromkeys(one.what for one in found.inputs)),
    }
    announce(c, rating.job_id, (CHANGED,), told)
    return found


def _predecessor(c: Connection, rating: StoredRating, experiment: Any) -> StoredRating | None:
    """Find the newest earlier rating of the same service by the same experiment, with its document."""
    earlier = (
        select(ratings.c.id, ratings.c.target)
        .join(jobs, jobs.c.id == ratings.c.job_id)
        .where(ratings.c.tenant == rating.tenant, ratings.c.target_url == rating.target_url, ratings.c.id != rating.id)
        .where(ratings.c.method == rating.method, ratings.c.attribute == rating.attribute)
        .where(ratings.c.withdrawn_at.is_(None), jobs.c.experiment == experiment)
        .order_by(ratings.c.created_at.desc(), ratings.c.id.desc())
        .limit(MOST_LOOKED_AT)
    )
    digest = rating.target.get("digest")
    same = (row.id for row in c.execute(earlier) if row.target.get("digest") == digest)
    if (found := next(same, None)) is None:
        return None
    row = c.execute(select(ratings).where(ratings.c.id == found)).mappings().one()
    return StoredRating(**row)
