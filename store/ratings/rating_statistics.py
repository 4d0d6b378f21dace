"""Statistics and listing of all public ratings; a download reads a part of the log (`LogPart`)."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, or_, select

from store.core.columns import CHARACTER_PAIRS, now_ms
from store.core.errors import StoreUnavailable
from store.core.rows import equal
from store.ratings import log, standing
from store.ratings.ratings import StoredRating
from store.ratings.standing import WHOLE, Conditions
from store.ratings.tables import log_entries, ratings, service_ratings, site
from store.targets.domains import current_owners

INCONCLUSIVE = "inconclusive"
"""Category of ratings without a declared letter."""


def distribution(
    c: Connection,
    *,
    kind: str | None = None,
    attribute: str | None = None,
    method: str | None = None,
    model: str | None = None,
    part: Conditions = WHOLE,
) -> Counter[tuple[str, str, str, str]]:
    """Count, by (kind, attribute, method, letter), the newest rating of each service, method and attribute.

    Only valid public ratings count; of a service with an address, only those that a look-up by address may return, by
    the most trusted class of requesters that rated it (`store.ratings.standing`). `part` are further conditions.
    """
    columns, owners = service_ratings.c, current_owners()
    requester_class = standing.rank(owners.c.tenant, service_ratings)
    newest_first = (requester_class, columns.created_at.desc(), columns.rating_id.desc())
    service_series = (columns.service, columns.method, columns.attribute)
    position = func.row_number().over(partition_by=service_series, order_by=newest_first)
    letter = case((and_(columns.declared, columns.letter.is_not(None)), columns.letter), else_=INCONCLUSIVE)
    numbered_ratings = (
        select(
            *(columns.kind, columns.attribute, columns.method, letter.label("letter"), site.label("address")),
            *(position.label("position"), requester_class.label("requester")),
        )
        .outerjoin_from(service_ratings, owners, owners.c.host == columns.host)
        .where(columns.visibility == "public", columns.withdrawn_at.is_(None), columns.expires_at > now_ms())
        .where(or_(columns.address.is_(None), standing.stands(owners.c.tenant, service_ratings)))
        .where(*equal(service_ratings, attribute=attribute, method=method, kind=kind), *part)
    )
    if model is not None:
        numbered_ratings = numbered_ratings.join(ratings, ratings.c.id == columns.rating_id)
        numbered_ratings = numbered_ratings.where(*standing.of_model(model))
    numbered = numbered_ratings.subquery().c
    address_series = (numbered.address, numbered.method, numbered.attribute)
    # of several services at one address, only those that the most trusted requesters rated are counted
    most_trusted = func.min(numbered.requester).over(partition_by=address_series)
    group = (numbered.kind, numbered.attribute, numbered.method, numbered.letter)
    newest_ratings = select(*group, numbered.requester, most_trusted.label("most_trusted"))
    newest = newest_ratings.where(numbered.position == 1).subquery().c  # one rating of each service
    group_columns = (newest.kind, newest.attribute, newest.method, newest.letter)
    query = select(*group_columns, func.count()).where(newest.requester == newest.most_trusted).group_by(*group_columns)
    return Counter({tuple(key): count for *key, count in c.execute(query)})


@dataclass(frozen=True)
class LogPart:
    """Part of the log: entries at positions from `after` to `size` - 1, of the ratings in shard `shard` of `shards`.

    The shard of a rating is the number that the last two characters of its id write in base 32 (10 random bits,
    `store.core.columns.new_id`), modulo `shards`.
    """

    after: int
    size: int
    shard: int = 0
    shards: int = 1

    @property
    def conditions(self) -> tuple[ColumnElement[bool], ...]:
        """SQL conditions that an entry of the log is in this part: its position, and the shard of its rating's id."""
        entry = log_entries.c
        range_conditions = (entry.position >= self.after, entry.position < self.size)
        if self.shards == 1:
            return range_conditions
        id_ending = func.substr(entry.rating_id, func.length(entry.rating_id) - 1)
        return (*range_conditions, id_ending.in_(CHARACTER_PAIRS[self.shard :: self.shards]))  # ids of this shard


def methodologies(c: Connection, part: LogPart) -> list[str]:
    """List the methodology versions of the ratings that were published in a part of the log."""
    _check_size(c, part)
    query = select(ratings.c.methodology_version).join(log_entries, log_entries.c.rating_id == ratings.c.id)
    query = query.where(*part.conditions, log_entries.c.event == "published", ratings.c.withdrawn_at.is_(None))
    return sorted(c.execute(query.distinct()).scalars())


def changes(c: Connection, part: LogPart, start: int, limit: int) -> list[tuple[int, StoredRating]]:
    """List (position, rating) for at most `limit` entries in a part of the log, from position `start`.

    A withdrawn rating is listed only at its withdrawal, and only if it was published before the part.
    """
    _check_size(c, part)
    entry, earlier = log_entries.c, log_entries.alias().c
    was_known = exists().where(earlier.rating_id == entry.rating_id, earlier.position < part.after)
    query = (
        select(entry.position, ratings)
        .join_from(log_entries, ratings, ratings.c.id == entry.rating_id)
        .where(*part.conditions, entry.position >= start)
        .where(or_(ratings.c.withdrawn_at.is_(None), and_(entry.event == "withdrawn", was_known)))
    )
    rows = map(dict, c.execute(query.order_by(entry.position).limit(limit)).mappings())
    return [(row.pop("position"), StoredRating(**row)) for row in rows]  # the other columns are those of a rating


def _check_size(c: Connection, part: LogPart) -> None:
    """Raise `StoreUnavailable` if this copy of the database has not received the whole part yet."""
    if log.size(c) < part.size:
        raise StoreUnavailable("conflict")
