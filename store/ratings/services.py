"""Public ratings of a service, and the newest rating of each service, for rankings.

A service is what its description identifies exactly: kind, protocol, address and settings, such as the model. So
ratings of another model at the same address never count for it. If a service has an address, only ratings that stand
for the address and have a requester of the most trusted class count (`store.ratings.standing`). Ratings that do not
stand for an address count for their own tenant's service only. Ratings with masked counts of people never count.

A withdrawn rating hides the older ones of its tenant, service, method and attribute. Otherwise an owner could withdraw
a bad rating to show an older, better one. It hides no rating of another tenant in the same class.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Text, and_, case, func, not_, or_, select, true, type_coerce

from assay.document import JsonObject
from store.core.engines import chunks
from store.core.rows import all_rows, equal, holds
from store.jobs.tables import jobs
from store.ratings import standing
from store.ratings.standing import KEY_DIGITS, WHOLE, Conditions, RatingFacts, key_of_digest
from store.ratings.tables import ratings, service_ratings, site
from store.targets.domains import current_owners, owner_of

rated = service_ratings.c

MOST_OF_SERIES = 100
"""Maximum number of ratings that a service's history lists for each method and attribute."""

requester_class = standing.rank(owner_of(rated.host), service_ratings)
"""SQL expression: class of a rating's requester (0 to 2); of a service's ratings, those of the lowest class count."""

SLUG = re.compile(rf"(?:[a-z0-9-]{{0,60}}-)?([0-9a-f]{{{KEY_DIGITS}}})")
"""Pattern of a service's name in a page's address: any words, and the service's key."""


@dataclass(frozen=True, kw_only=True)
class ServiceRating(RatingFacts):
    """The facts about a rating that the pages of services show.

    `key_figures` are the numbers by which services are ranked (`assay.rating.document.key_figures`); ``None`` if they
    could not be read.
    """

    service: str
    address: str | None
    key_figures: JsonObject | None


class NewestRating(NamedTuple):
    """The columns of a rating by which services are ranked; a tuple, because thousands of rows are read at once.

    Times are milliseconds since 1970.
    """

    id: str
    name: str | None
    method: str
    attribute: str
    letter: str | None
    declared: bool
    created_at: int
    expires_at: int
    key_figures: JsonObject | None


NEWEST_COLUMNS = (rated.rating_id, *(rated[name] for name in NewestRating._fields[1:]))
"""Columns of a `NewestRating`, whose `id` is called ``rating_id`` in the table."""

OWN_COLUMNS = ("service", "address", "host", "description", "withdrawn_at", "key_figures")
"""Fields of `ServiceRating` that are read from the table `service_ratings`, because `ratings` is slower to read."""

COLUMNS = [(service_ratings if field.name in OWN_COLUMNS else ratings).c[field.name] for field in fields(ServiceRating)]

READ_RATINGS = select(*COLUMNS).join_from(ratings, service_ratings, rated.rating_id == ratings.c.id)


@dataclass(frozen=True)
class Service:
    """A service by its key (`service_key`); with a `tenant`, only the ratings of this tenant count for it."""

    key: str
    tenant: str | None = None

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """SQL conditions of the rows of `service_ratings` that count for the service."""
        is_counted = _stands_for_address() if self.tenant is None else rated.tenant == self.tenant
        return [rated.service == self.key, *_publicly_listed(), is_counted]


def find(c: Connection, name: str) -> Service | None:
    """Return the service of a slug (even if it has no ratings), or of the public rating with this id; else ``None``."""
    if slug := SLUG.fullmatch(name):
        return Service(slug[1])  # the key at the end of the slug
    query = select(rated.service, rated.tenant, _stands_for_address().label("stands"))
    row = c.execute(query.where(rated.rating_id == name, *_publicly_listed())).one_or_none()
    if row is None:
        return None
    # a rating that a look-up by address would not return shows only what its own tenant rated there
    return Service(row.service, None if row.stands else row.tenant)


def history(c: Connection, service: Service) -> list[ServiceRating]:
    """List the ratings of a service, newest first, with withdrawn ones.

    For a method and attribute, only the newest `MOST_OF_SERIES` of the most trusted requesters (owner, operator, or
    else others) are listed.
    """
    series = (rated.method, rated.attribute)
    newest_first = (rated.created_at.desc(), rated.rating_id.desc())
    best_class = func.min(requester_class).over(partition_by=series)
    position = func.row_number().over(partition_by=(*series, requester_class), order_by=newest_first)
    ranks = (requester_class.label("rank"), best_class.label("best_class"), position.label("position"))
    ranked_ratings = select(rated.rating_id, *ranks).where(*service.conditions).subquery()
    query = READ_RATINGS.join(ranked_ratings, ranked_ratings.c.rating_id == ratings.c.id)
    query = query.where(ranked_ratings.c.rank == ranked_ratings.c.best_class)
    rows = all_rows(c, query.where(ranked_ratings.c.position <= MOST_OF_SERIES), ServiceRating)
    return sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)


def questions(c: Connection, tenant: str | None, kind: str, part: Conditions = WHOLE) -> Counter[tuple[str, str]]:
    """Count services of a kind by (method, attribute) of ratings that `tenant` may list and `part` (SQL) admits."""
    series = (rated.method, rated.attribute)
    query = select(*series, func.count(rated.service.distinct())).where(rated.kind == kind, *_visible_to(tenant))
    rows = c.execute(query.where(rated.withdrawn_at.is_(None), *part).group_by(*series))
    return Counter({(method, attribute): number for method, attribute, number in rows})


def newest(
    c: Connection,
    tenant: str | None,
    *,
    kind: str,
    method: str,
    attribute: str,
    language: str | None = None,
    part: Conditions = WHOLE,
) -> list[NewestRating]:
    """Return the newest rating of each service of a kind, of ratings that `tenant` may list and `part` (SQL) admits.

    Only the most trusted requesters (owner, operator, or else others) count; if all of them withdrew their newest
    rating, the service is left out. With a `language`, only ratings in it alone count. A service without an address is
    listed once per tenant.
    """
    owners = current_owners()
    requester_rank = standing.rank(owners.c.tenant, service_ratings)
    tenant_without_address = case((rated.address.is_(None), rated.tenant), else_="")
    newest_first = (rated.created_at.desc(), rated.rating_id.desc())
    position_in_tenant = func.row_number().over(partition_by=(rated.service, rated.tenant), order_by=newest_first)
    is_counted = or_(rated.address.is_(None), rated.tenant == tenant, standing.stands(owners.c.tenant, service_ratings))
    numbered_ratings = (
        select(rated.rating_id, position_in_tenant.label("position"), requester_rank.label("requester"))
        .outerjoin_from(service_ratings, owners, owners.c.host == rated.host)
        .where(rated.kind == kind, rated.method == method, rated.attribute == attribute, *_visible_to(tenant))
        .where(is_counted, *part, true() if language is None else _is_in_language_alone(language))
        .subquery()
    )
    most_trusted_first = (numbered_ratings.c.requester, rated.withdrawn_at.is_not(None), *newest_first)
    rank = func.row_number().over(partition_by=(rated.service, tenant_without_address), order_by=most_trusted_first)
    query = select(*NEWEST_COLUMNS, rated.withdrawn_at, rank.label("place"))
    query = query.join(numbered_ratings, numbered_ratings.c.rating_id == rated.rating_id)
    ranked_ratings = query.where(numbered_ratings.c.position == 1).subquery()  # the newest rating of each tenant
    rows = c.execute(select(ranked_ratings).where(ranked_ratings.c.place == 1, ranked_ratings.c.withdrawn_at.is_(None)))
    return [NewestRating._make(row[:-2]) for row in rows]  # without `withdrawn_at` and `place`


def newest_of_services(c: Connection, tenant: str, digests: Collection[str]) -> dict[str, NewestRating]:
    """Return the tenant's newest rating of each service, without withdrawn ones, by the digest of its description."""
    digest_of_key = {key_of_digest(digest): digest for digest in digests}
    newest_first = (rated.created_at.desc(), rated.rating_id.desc())
    position = func.row_number().over(partition_by=rated.service, order_by=newest_first)
    conditions = (rated.service.in_(digest_of_key), rated.tenant == tenant, rated.withdrawn_at.is_(None))
    numbered_ratings = select(rated.service, *NEWEST_COLUMNS, position.label("position")).where(*conditions).subquery()
    rows = c.execute(select(numbered_ratings).where(numbered_ratings.c.position == 1))
    return {digest_of_key[service]: NewestRating._make(row) for service, *row, _ in rows}


def count_by_kind(c: Connection, tenant: str, part: Conditions = WHOLE) -> Counter[str]:
    """Count the services that a tenant has rated, by kind."""
    query = select(rated.kind, func.count(rated.service.distinct()).label("services"))
    rows = c.execute(query.where(rated.tenant == tenant, rated.withdrawn_at.is_(None), *part).group_by(rated.kind))
    return Counter({row.kind: row.services for row in rows})


def read(c: Connection, ids: Sequence[str]) -> dict[str, ServiceRating]:
    """Read ratings by their ids, in several queries, because some drivers take at most 32,766 parameters."""
    queries = (READ_RATINGS.where(ratings.c.id.in_(chunk)) for chunk in chunks(ids))
    return {row.id: row for query in queries for row in all_rows(c, query, ServiceRating)}


def _is_in_language_alone(language: str) -> ColumnElement[bool]:
    """Return the condition that a rating's experiment, stored as compact JSON, has this language and no other."""
    is_equal = type_coerce(jobs.c.experiment, Text).contains(f'"languages":{json.dumps([language])}', autoescape=True)
    of_rating = (ratings.c.id == rated.rating_id, jobs.c.id == ratings.c.job_id)
    return select(jobs.c.id).where(*of_rating, is_equal).correlate(service_ratings).exists()


def _stands_for_address() -> ColumnElement[bool]:
    return and_(rated.address.is_not(None), standing.stands(owner_of(rated.host), service_ratings))


def _publicly_listed() -> list[ColumnElement[bool]]:
    return [rated.visibility == "public", not_(rated.masked)]


def _visible_to(tenant: str | None) -> list[ColumnElement[bool]]:
    return [or_(rated.visibility == "public", rated.tenant == tenant), not_(rated.masked)]


MOST_NAMES = 2_000
"""Maximum number of names that are compared with a text; if there are more, only those with most of the text are."""

MAX_COMPARED_CHARACTERS = 60
"""Length of the longest text that is compared: the time grows with its square."""

MOST_APART = 2
"""Largest difference between the lengths of a searched text and a name that are compared."""

SIMILAR = 0.65
"""Smallest similarity (0 to 1) of a name that is suggested: one wrong letter of four passes, one of three does not."""


def similar_names(
    c: Connection, tenant: str | None, q: str, *, mine: bool = False, kind: str | None = None
) -> list[str]:
    """Return up to three names like `q`, or words in them, of services that a tenant may list (`mine`: has rated)."""
    text = q.strip().casefold()
    if not text or len(text) > MAX_COMPARED_CHARACTERS:
        return []
    is_listed = rated.tenant == tenant if mine else or_(rated.tenant == tenant, rated.visibility == "public")
    query = select(rated.name).where(rated.current, is_listed, *equal(service_ratings, kind=kind))
    query = query.where(rated.withdrawn_at.is_(None), rated.name.is_not(None)).limit(MOST_NAMES)
    names = c.execute(query.order_by(site)).scalars().all()  # in the order of an index, where reading ends at the limit
    if len(names) == MOST_NAMES:  # there may be more: only names that agree outside a window of the text are compared
        window_length = min(3, len(text) // 2)  # the window holds the error: a wrong letter, or two swapped
        # a window begins at every second letter: of length 3, any two neighbours are in one; if shorter, most are
        window_starts = range(0, len(text) - window_length + 2, 2)
        contexts = [(text[:start], text[start + window_length :]) for start in window_starts]
        is_similar = or_(*(holds(c, rated.searched, *filter(None, context)) for context in contexts))
        names = c.execute(query.where(is_similar)).scalars().all()
    return close_words(text, sorted(set(names)))


def close_words(text: str, names: Iterable[str]) -> list[str]:
    """Return up to three names, or words of names, as similar to a text as `SIMILAR` or more, most similar first."""
    words: dict[str, str] = {}
    for name in names:
        for word in (name, *re.split(r"[\W_]+", name)):
            if len(word) > 2 and abs(len(word) - len(text)) <= MOST_APART:  # of like length
                words.setdefault(word.casefold(), word)
    return [words[match] for match in get_close_matches(text, words, n=3, cutoff=SIMILAR)]
