"""Ratings: stored by the transaction that ends their job; their documents never change.

`store.ratings.registry` changes their visibility and withdraws them.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import cached_property
from secrets import token_hex
from typing import Any, Literal, Self, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, exists, func, insert, or_, select

from assay.canonical import rating_digest
from assay.document import JsonObject, RatingDocument, RequesterDocument, as_json
from assay.methods import rating_of
from assay.rating.document import key_figures
from store.core.columns import iso, new_id, read_clock
from store.core.rows import about_target, all_rows, equal, holds, limit_rows, newest_first, one_row, page_of, page_rows
from store.ratings import standing
from store.ratings.standing import Description, RatingFacts, Requester, Whose
from store.ratings.tables import ratings, service_ratings, unsigned_ratings
from store.targets.domains import canonical_address, owners

State = Literal["standing", "withdrawn", "all"]
"""Filter of lists: ratings that were not withdrawn (including expired ones), withdrawn ratings, or all."""


@dataclass(frozen=True)
class NewRating:
    """Fields of a new rating.

    `rating` lacks only `id`, `rated_at`, `expires_at` and `requester`; it expires after `valid_for_s` seconds.
    `description` says how the request described the service (`store.ratings.standing`). `public` is the form of
    `rating` without small counts of people, which is signed and shown to others; ``None`` if that is `rating` itself.
    """

    tenant: str
    target_id: str | None
    rating: RatingDocument
    request_digest: str
    valid_for_s: int
    description: Description
    public: RatingDocument | None = None
    because: str | None = None
    """Sentence that says why the rating has its letter, for lists and notices."""


@dataclass(frozen=True, kw_only=True)
class Summary(RatingFacts):
    """A rating's row without its document, for lists.

    `requester` and `host_proved` are as in `Standing`, but at the time of the rating. They and `description` are
    ``None`` if an old version of Assay made the rating; `host_proved` also for a target without an address.
    """

    job_id: str
    target_id: str | None
    withdrawn_why: str | None = None
    requester: Requester | None = None
    host_proved: bool | None = None

    @property
    def requested(self) -> JsonObject | None:
        """Who requested the rating and how, as in its document (``requester``); ``None`` if that is not known."""
        if self.requester is None:
            return None
        return {"role": self.requester, "host_proved": self.host_proved, "description": self.description}

    @property
    def notice(self) -> JsonObject:
        """The facts about the rating that every webhook notice has."""
        return {
            "job_id": self.job_id,
            "rating_id": self.id,
            "target_url": self.target["url"],
            "letter": self.letter,
            "declared": self.declared,
            "requester": self.requested,
        }


@dataclass(frozen=True, kw_only=True)
class StoredRating(Summary):
    """A rating's row. `document` never changes; `shown` adds the present visibility; `address` is normalised.

    `document` is the signed form for others. If it masks counts of people, `unmasked` is the form for its tenant.
    """

    target_url: str
    request_digest: str
    document: JsonObject
    address: str | None = None
    unmasked: JsonObject | None = None

    def seen_by(self, tenant: str | None) -> Self:
        """Return the rating as a tenant may see it: with the unmasked document for its own tenant; never cache that."""
        return self if self.unmasked is None or tenant != self.tenant else replace(self, document=self.unmasked)

    @property
    def is_unmasked(self) -> bool:
        """Whether `document` is the unmasked form, which only the rating's own tenant may read."""
        return self.unmasked is not None and self.document is self.unmasked

    @cached_property
    def rating(self) -> RatingDocument:
        """`document`, parsed as a `RatingDocument` with components of the classes of its method."""
        return rating_of(self.document)

    @property
    def shown(self) -> JsonObject:
        """The document with its current visibility and its withdrawal, if any."""
        at = self.withdrawn_at
        withdrawn = None if at is None else {"at": iso(at), "reason": self.withdrawn_why}
        return self.document | {"visibility": self.visibility, "withdrawn": withdrawn}


NEWEST_FIRST = (ratings.c.created_at.desc(), ratings.c.id.desc())


def readable(tenant: str | None) -> ColumnElement[bool]:
    """Return the condition that a rating belongs to the tenant, or is public or unlisted."""
    return or_(ratings.c.tenant == tenant, ratings.c.visibility.in_(("public", "unlisted")))


def add(c: Connection, new_rating: NewRating, job_id: str) -> StoredRating:
    """Store a rating that waits for its signature; `store.jobs.runs.finish` calls this when it ends the job."""
    now = read_clock(c)
    rating_id, expires_at = new_id("rat"), now + new_rating.valid_for_s * 1000
    rating = new_rating.rating
    url = rating.target.url
    address = canonical_address(url or "")
    host = None if address is None else address.partition("/")[0]
    owner = None if host is None else owners(c, [host]).get(host)
    requester = standing.requester_of(new_rating.tenant, owner)
    host_proved = None if host is None else owner is not None  # whether a tenant proved to own the host
    facts: JsonObject = {
        "id": rating_id,
        "rated_at": iso(now),
        "expires_at": iso(expires_at),
        "requester": RequesterDocument(requester, host_proved, new_rating.description),
    }
    document = as_json(replace(rating, **facts))
    unmasked_document = None
    if new_rating.public is not None:  # the form for others, with masked counts of people
        # the digest is public: without a random salt, documents with guessed counts could be tried until one has it
        unmasked_document = document | {"salt": token_hex(16)}
        mask_facts = {**(new_rating.public.masked or {}), "unmasked": rating_digest(unmasked_document)}
        document = as_json(replace(new_rating.public, masked=mask_facts, **facts))
    row = StoredRating(
        **{name: getattr(new_rating, name) for name in ("tenant", "target_id", "request_digest", "description")},
        **{name: getattr(rating, name) for name in ("method", "attribute", "letter", "declared", "visibility")},
        id=rating_id,
        job_id=job_id,
        created_at=now,
        expires_at=expires_at,
        host=host,
        address=address,
        requester=requester,
        host_proved=host_proved,
        target_url=url or "",
        target=as_json(rating.target),
        document=document,
        unmasked=unmasked_document,
        methodology_version=str(rating.methodology.version),
    )
    c.execute(insert(ratings).values({field.name: getattr(row, field.name) for field in fields(row)}))
    c.execute(insert(unsigned_ratings).values(rating_id=rating_id, next_attempt_at=now))
    reason = {"because": new_rating.because} if new_rating.because else {}
    _add_ranking_row(c, row, key_figures(new_rating.public or rating) | reason)
    return row


def _add_ranking_row(c: Connection, row: StoredRating, figures: JsonObject) -> None:
    """Store, for rankings of services, columns of a rating and its `figures`; nothing if its target has no digest."""
    if (service := standing.service_key(row.target)) is None:
        return
    copied_columns = ("method", "attribute", "tenant", "visibility", "description", "host", "address", "created_at")
    values = {name: getattr(row, name) for name in (*copied_columns, "letter", "declared", "expires_at")}
    values |= {name: row.target.get(name) or "" for name in ("kind", "name")}
    values |= {"masked": row.unmasked is not None, "searched": f"{values['name']}\n{row.target_url}"}
    c.execute(insert(service_ratings).values(rating_id=row.id, service=service, key_figures=figures, **values))
    standing.replace_older(c, row.id)


def sentences(c: Connection, ids: Collection[str]) -> dict[str, str]:
    """Read the sentences that say why ratings have their letters, by rating id; others are left out."""
    columns = service_ratings.c
    rows = c.execute(select(columns.rating_id, columns.key_figures).where(columns.rating_id.in_(ids)))
    return {rating_id: figures["because"] for rating_id, figures in rows if (figures or {}).get("because")}


def find(c: Connection, rating_id: str, tenant: str | None) -> StoredRating | None:
    """Read a rating of the tenant, or a public or unlisted one; return ``None`` for any other."""
    return one_row(c, select(ratings).where(ratings.c.id == rating_id, readable(tenant)), StoredRating)


def find_all(c: Connection, ids: Collection[str], tenant: str | None) -> dict[str, StoredRating]:
    """Read several ratings in one query, by id; those that `find` would not return are left out."""
    query = select(ratings).where(ratings.c.id.in_(ids), readable(tenant))
    return {rating.id: rating for rating in all_rows(c, query, StoredRating)} if ids else {}


@dataclass(frozen=True)
class Stamp:
    """Letter of a rating, for lists of jobs."""

    id: str
    letter: str | None
    declared: bool


def stamps(c: Connection, ids: Collection[str]) -> dict[str, Stamp]:
    """Read the letters of several ratings in one query, without the documents."""
    if not ids:
        return {}
    query = select(ratings.c.id, ratings.c.letter, ratings.c.declared).where(ratings.c.id.in_(ids))
    return {row.id: Stamp(row.id, row.letter, row.declared) for row in c.execute(query)}


R = TypeVar("R", StoredRating, Summary)


def page(c: Connection, tenant: str | None, /, **filters: Any) -> list[StoredRating]:
    """List the tenant's ratings and all public ones, newest first; ``tenant=None`` lists only public ones.

    `filters` are the keyword arguments of `_read_page`, such as `state`, `kind`, `q`, `before` and `limit`.
    """
    return _read_page(c, tenant, StoredRating, **filters)


def summaries(c: Connection, tenant: str | None, /, **filters: Any) -> list[Summary]:
    """List ratings as `page` does, without reading their documents."""
    return _read_page(c, tenant, Summary, **filters)


def _read_page(
    c: Connection,
    tenant: str | None,
    build: type[R],
    *,
    state: State = "standing",
    kind: str | None = None,
    q: str | None = None,
    mine: bool = False,
    digest: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
    **filters: object,
) -> list[R]:
    """Read a page that starts after the row ``before = (created_at, id)``.

    `q` is searched for in the target's name and address; `mine` leaves out ratings of other tenants; `digest` is that
    of the service's description; `filters` maps columns to their required values, where ``None`` means any value.
    """
    query = (
        select(*(ratings.c[field.name] for field in fields(build)))
        .where(ratings.c.tenant == tenant if mine else _is_visible(tenant), *_in_state(state))
        .where(*equal(ratings, **filters), *about_target(ratings, q, kind))
    )
    service: str | None = None if digest is None else standing.key_of_digest(digest)
    if service is not None:
        of_service = select(service_ratings.c.rating_id).where(service_ratings.c.service == service)
        query = query.where(ratings.c.id.in_(of_service))
    if q is None or (is_among_newest := _newest_only(c, before)) is None:
        return page_of(c, query, ratings, build, before, limit)
    # the newest ratings often fill the page; otherwise the services are found by the index of names
    newest_rows = page_rows(c, query.where(is_among_newest), ratings, before, limit)
    newest_page = limit_rows(newest_rows, lambda row: build(**row))
    if newest_page.cut or len(newest_page) >= limit:  # the page is full
        return newest_page
    columns = service_ratings.c
    is_listed = columns.tenant == tenant if mine else _is_visible(tenant, service_ratings)
    service_query = select(columns.service).where(columns.current, is_listed, holds(c, columns.searched, q))
    service_keys = c.execute(service_query.limit(MOST_NAMED)).scalars().all()
    total = None
    if len(service_keys) < MOST_NAMED:  # otherwise a search of all ratings soon fills the page
        conditions = [*_in_state(state, service_ratings), *equal(service_ratings, kind=kind, service=service)]
        conditions += equal(service_ratings, **{name: value for name, value in filters.items() if name in columns})
        named = select(columns.rating_id).where(columns.service.in_(set(service_keys)), is_listed, *conditions)
        ids = c.execute(newest_first(named, columns.created_at, columns.rating_id, before, MOST_NAMED)).scalars().all()
        query = query.where(ratings.c.id.in_(ids))
        total = len(ids) if before is None and len(ids) < MOST_NAMED else None
    rows = limit_rows(page_rows(c, query, ratings, before, limit), lambda row: build(**row))
    rows.total = total
    return rows


MOST_LOOKED_AT = 2_000
"""Number of the newest ratings in which a search looks before it asks the index of names."""

MOST_NAMED = 500
"""Maximum number of services found by their names, and of ratings of these, that a search for a text reads."""


def _newest_only(c: Connection, before: tuple[int, str] | None) -> ColumnElement[bool] | None:
    """Return the condition that a rating is one of the `MOST_LOOKED_AT` newest after `before`; ``None`` if all are."""
    created_at, rating_id = ratings.c.created_at, ratings.c.id
    query: Select[tuple[int, str]] = newest_first(select(created_at, rating_id), created_at, rating_id, before, limit=1)
    oldest = c.execute(query.offset(MOST_LOOKED_AT - 1)).one_or_none()
    if oldest is None:
        return None
    return and_(created_at >= oldest.created_at, or_(created_at > oldest.created_at, rating_id >= oldest.id))


def newest_of_targets(c: Connection, tenant: str, limit: int) -> list[Summary]:
    """List the tenant's newest rating of each target (by its digest), newest first, without withdrawn ones."""
    columns, newer = service_ratings.c, service_ratings.alias().c
    has_larger_id = and_(newer.created_at == columns.created_at, newer.rating_id > columns.rating_id)
    is_newer = or_(newer.created_at > columns.created_at, has_larger_id)
    is_same_target = (newer.service == columns.service, newer.tenant == tenant, newer.withdrawn_at.is_(None))
    not_older = newer.created_at >= columns.created_at  # follows from `is_newer`, and lets the index be used
    query = select(*(ratings.c[field.name] for field in fields(Summary)))
    query = query.join_from(ratings, service_ratings, columns.rating_id == ratings.c.id)
    query = query.where(ratings.c.tenant == tenant, columns.withdrawn_at.is_(None))
    # a condition that is checked row by row, the newest first, so that the query ends at its limit
    query = query.where(~exists().where(*is_same_target, not_older, is_newer))
    return all_rows(c, query.order_by(*NEWEST_FIRST).limit(limit), Summary)


def latest(
    c: Connection,
    tenant: str | None,
    target_url: str,
    *,
    whose: Whose = "address",
    attribute: str | None = None,
    method: str | None = None,
    model: str | None = None,
) -> list[StoredRating]:
    """List the newest rating of an address for each method, attribute and service, the newest first.

    Of the tenant's own and all public ratings that a look-up by address may return, including expired ones but not
    withdrawn ones, only those by the most trusted class of requesters count (`store.ratings.standing`): others cannot
    add further methods or attributes to the result. With ``whose="mine"`` only the tenant's own ratings are
    considered.
    """
    lookup = standing.of_address(target_url, tenant, whose)
    series = (lookup.rank, ratings.c.method, ratings.c.attribute, *standing.rated_service)
    ranked_ratings = (
        select(
            ratings.c.id,
            func.row_number().over(partition_by=series, order_by=NEWEST_FIRST).label("place"),
            lookup.rank.label("rank"),
            func.min(lookup.rank).over().label("first_rank"),
        )
        .where(*lookup.conditions, *_in_state("standing"))
        .where(*equal(ratings, attribute=attribute, method=method), *standing.of_model(model))
        .subquery()
    )
    query = select(ratings).join(ranked_ratings, ranked_ratings.c.id == ratings.c.id)
    query = query.where(ranked_ratings.c.place == 1, ranked_ratings.c.rank == ranked_ratings.c.first_rank)
    return all_rows(c, query.order_by(*NEWEST_FIRST), StoredRating)


def _is_visible(tenant: str | None, table: Table = ratings) -> ColumnElement[bool]:
    return or_(table.c.tenant == tenant, table.c.visibility == "public")


def _in_state(state: State, table: Table = ratings) -> list[ColumnElement[bool]]:
    """Return a list with the condition that a rating is in a state; empty for ``all``."""
    if state == "all":
        return []
    is_withdrawn = table.c.withdrawn_at.is_not(None)
    return [is_withdrawn if state == "withdrawn" else ~is_withdrawn]
