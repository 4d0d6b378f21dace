"""Which ratings stand for an address, and who requested them.

Anyone may rate any address. A rating "stands for" its address if a look-up by address may return it. The ratings of
the host's proved owner come first, then those of the agency's operator, then those of other requesters with a
protocol's default description. Ratings of uploads, which no service has answered, never stand for an address. Nor do
ratings of other requesters if these named the model (perhaps their own at a provider's address), changed the
description, or did not ask for publication before the result was known.

Proofs expire and hosts change hands, so a look-up uses the proofs of the moment; a rating's document has the facts at
the time of the rating.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Table, and_, case, false, func, literal, or_, select, update

from assay.document import Json, JsonObject
from assay.model import CALL_SETTINGS, MODEL_SETTINGS
from store.core.columns import iso
from store.core.rows import equal, json_part
from store.ratings.tables import ratings, service_changes, service_ratings, site
from store.security.rights import OPERATOR_TENANT
from store.targets import domains

Requester = Literal["owner", "operator", "other"]
REQUESTERS: tuple[Requester, ...] = ("owner", "operator", "other")
"""Classes of requesters, the most trusted first; look-ups by address use only the first class with ratings."""

Description = Literal["default", "unpublished", "named", "changed", "uploaded"]
"""How the rated service was described: by a protocol's default, by the default but in a request that did not ask for
publication, by the default and a name that the requester chose (model, deployment, project), in another way, or not
called at all."""

KEY_DIGITS = 24
"""Number of hexadecimal digits in a service's key: with 96 bits, nobody can construct another service with it."""


def _setting(*path: str) -> ColumnElement[str | None]:
    return func.nullif(func.nullif(json_part(ratings.c.target, "settings", *path), ""), "{}")


_called_address = ratings.c.address + func.rtrim(func.coalesce(_setting("path"), ""), "/")

rated_service = (_called_address, *map(_setting, (*MODEL_SETTINGS, *CALL_SETTINGS)))
"""SQL expressions: what chooses the service that answers, where an address has several."""

_NAMES = (
    func.coalesce(*map(_setting, MODEL_SETTINGS)),
    _setting("body", "model"),
    _setting("path"),
    func.substr(json_part(ratings.c.target, "digest"), len("sha256:") + 1, KEY_DIGITS),
)


def service_key(target: Mapping[str, Any]) -> str | None:
    """Return the key of a service, the first digits of the digest of its description; ``None`` without a digest."""
    digest = target.get("digest")
    return key_of_digest(str(digest)) if digest else None


def key_of_digest(digest: str) -> str:
    """Return the key of the service whose description has this digest: its first `KEY_DIGITS` digits."""
    return digest.removeprefix("sha256:")[:KEY_DIGITS]


def names_of(target: Json) -> list[str]:
    """Return the names by which a rated service can be chosen (`of_model`): model, path of its calls, service's key."""
    settings = target.get("settings") or {}
    model = next((settings[name] for name in MODEL_SETTINGS if settings.get(name)), None)
    model_of_body = body.get("model") if isinstance(body := settings.get("body"), dict) else None
    names = (model, model_of_body, settings.get("path"), service_key(target))
    return [name for name in names if name and isinstance(name, str)]


Whose = Literal["address", "mine", "all"]
"""Filter of an address's ratings: those that stand for it, the caller's own, or all."""


@dataclass(frozen=True)
class Standing:
    """Who requested a rating, and whether a look-up by its address may return it; by proofs of ownership valid now."""

    requester: Requester
    """Class of the tenant that requested the rating, by the proofs that are valid now."""
    host_proved: bool | None
    """Whether a tenant has a valid proof that it owns the host; ``None`` if the target has no address."""
    for_address: bool
    """Whether the rating can be the result of a look-up by address."""
    changed_since: str | None = None
    """Time (ISO 8601) since which the service answers differently, if a watch of the rating noticed that."""


@dataclass(frozen=True, kw_only=True)
class RatingFacts:
    """The facts in a rating's row that every list shows. Times are milliseconds since 1970.

    `host` is the target's host, in the form that look-ups compare (`store.targets.domains.host_of`).
    """

    id: str
    tenant: str
    target: JsonObject
    method: str
    attribute: str
    letter: str | None
    declared: bool
    visibility: str
    methodology_version: str
    created_at: int
    expires_at: int
    withdrawn_at: int | None = None
    host: str | None = None
    description: Description | None = None


def standing(rating: RatingFacts, owner: str | None, changed_at: int | None) -> Standing:
    """Return the standing of a rating at its address.

    `owner` is the tenant with the newest valid proof of its host; `changed_at` is the time of a change of the service
    that a watch noticed, in milliseconds since 1970.
    """
    requester = requester_of(rating.tenant, owner)
    changed_since = None if changed_at is None else iso(changed_at)
    if rating.host is None:
        return Standing(requester, host_proved=None, for_address=False, changed_since=changed_since)
    is_trusted = requester != "other" or rating.description == "default"  # described by its protocol's default
    for_address = is_trusted and rating.description != "uploaded"  # no service at the address answered
    return Standing(requester, owner is not None, for_address, changed_since)


def standings(c: Connection, rows: Iterable[RatingFacts]) -> dict[str, Standing]:
    """Return the `Standing` of each of several ratings, by rating id, in two queries."""
    if not (rows := list(rows)):
        return {}
    owners = domains.owners(c, {row.host for row in rows if row.host is not None})
    columns = service_changes.c
    query = select(columns.rating_id, columns.since).where(columns.rating_id.in_([row.id for row in rows]))
    changed_at = {row.rating_id: row.since for row in c.execute(query)}
    return {row.id: standing(row, owners.get(row.host or ""), changed_at.get(row.id)) for row in rows}


def requester_of(tenant: str, owner: str | None) -> Requester:
    """Return the class of a tenant as a rating's requester; `owner` is the tenant that owns the rated host, if any."""
    if tenant == owner:
        return "owner"
    return "operator" if tenant == OPERATOR_TENANT else "other"


def rank(owner: ColumnElement[str | None], table: Table = ratings) -> ColumnElement[int]:
    """Return the index of a rating's requester in `REQUESTERS`, as SQL; `owner` is the host's owner or NULL."""
    return case((table.c.tenant == owner, 0), (table.c.tenant == OPERATOR_TENANT, 1), else_=2)


def stands(owner: ColumnElement[str | None], table: Table = ratings) -> ColumnElement[bool]:
    """Return the condition that a look-up by address can return a rating; `owner` is the host's owner or NULL."""
    is_trusted = or_(table.c.tenant == owner, table.c.tenant == OPERATOR_TENANT)
    return and_(table.c.description.is_distinct_from("uploaded"), or_(is_trusted, table.c.description == "default"))


@dataclass(frozen=True)
class AddressQuery:
    """SQL expressions by which a look-up by address selects ratings."""

    conditions: list[ColumnElement[bool]]
    """Conditions of the ratings that count."""
    rank: ColumnElement[int]
    """Class of the requester; the ratings of the lowest class decide."""


def of_model(model: str | None) -> list[ColumnElement[bool]]:
    """Return a list with the condition that a rating's service has this name (`names_of`); empty for ``None``."""
    return [] if model is None else [or_(*(name == model for name in _NAMES))]


def of_address(target_url: str, tenant: str | None, whose: Whose = "address") -> AddressQuery:
    """Return the query for ratings of an address that `tenant` may see: those that `stands` keeps, `mine`, or `all`."""
    address = domains.canonical_address(target_url)
    if address is None:
        return AddressQuery([false()], literal(0))
    beginnings = ["/".join(address.split("/")[:count]) for count in range(1, address.count("/") + 1)]
    is_of_address = or_(ratings.c.address == address, _called_address == address)  # without or with the setting `path`
    conditions = [ratings.c.address.in_([address, *beginnings]), is_of_address]
    if whose == "mine":
        called_a_service = ratings.c.description.is_distinct_from("uploaded")
        return AddressQuery([*conditions, ratings.c.tenant == tenant, called_a_service], literal(0))
    conditions.append(or_(ratings.c.tenant == tenant, ratings.c.visibility == "public"))
    if whose == "all":
        return AddressQuery(conditions, literal(0))
    owner = domains.owner_of(address.partition("/")[0])
    return AddressQuery([*conditions, stands(owner)], rank(owner))


# Of a service's ratings that agree in all columns of `ALIKE`, only the newest is needed, unless an older one is valid
# for longer. The needed ratings are marked `current`; counts, rankings and searches read only these. A mark on another
# rating changes no result, because each query chooses the newest. A large registry is read in parts, by short queries.
PART_SIZE = 2_000
"""Number of ratings in a part, by which a large registry is read; one address is always in one part."""

ALIKE = ("kind", "method", "attribute", "tenant", "visibility", "description", "masked", "name")
"""Of a service's ratings with equal values in these columns, the newest is current; withdrawn ones are apart."""

_NEW, _OLD = service_ratings.alias("new"), service_ratings.alias("old")
_ALIKE = and_(
    _OLD.c.service == _NEW.c.service,
    *(_OLD.c[name].is_not_distinct_from(_NEW.c[name]) for name in ALIKE),
    _OLD.c.withdrawn_at.is_(None) == _NEW.c.withdrawn_at.is_(None),
)

Conditions = Sequence[ColumnElement[bool]]
WHOLE: Conditions = [service_ratings.c.current]


def part_after(c: Connection, /, after: str, **filters: str | None) -> tuple[list[ColumnElement[bool]], str | None]:
    """Return SQL conditions for ratings of the next addresses after `after`, and the last address if more follow it."""
    part: list[ColumnElement[bool]] = [*WHOLE, site > after] if after else [*WHOLE]
    query = select(site).where(*part, *equal(service_ratings, **filters)).order_by(site)
    last_address = c.execute(query.offset(PART_SIZE - 1).limit(1)).scalar_one_or_none()
    return (part, None) if last_address is None else ([*part, site <= last_address], last_address)


def replace_older(c: Connection, rating_id: str) -> None:
    """Mark older ratings like a new one (of equal `ALIKE` columns) as not current, unless they are valid for longer."""
    new, old = _NEW.c, _OLD.c
    # an older rating that is valid for longer is needed again when the new one has expired; NULL: no known validity
    ends_no_later = or_(old.expires_at.is_(None), old.expires_at <= new.expires_at)
    is_replaced = and_(old.created_at < new.created_at, ends_no_later)
    ids = select(old.rating_id).where(_ALIKE, old.current, is_replaced, new.rating_id == rating_id)
    c.execute(update(service_ratings).where(service_ratings.c.rating_id.in_(ids)).values(current=False))


def restore_replaced(c: Connection, rating_id: str) -> None:
    """Before a rating is withdrawn or changes visibility, mark it and the newest other rating like it as current."""
    similar_ids = select(_OLD.c.rating_id).where(_ALIKE, _NEW.c.rating_id == rating_id, _OLD.c.rating_id != rating_id)
    newest_id = similar_ids.order_by(_OLD.c.created_at.desc(), _OLD.c.rating_id.desc()).limit(1)
    # the changed rating is no longer like the one that has replaced it, so it becomes current as well
    ids = (newest_id.scalar_subquery(), literal(rating_id))
    c.execute(update(service_ratings).where(service_ratings.c.rating_id.in_(ids)).values(current=True))
