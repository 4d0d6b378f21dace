"""Saved targets, which requests can refer to by id. Their secrets are stored encrypted and never returned."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from sqlalchemy import Connection, or_

from assay.document import Json, JsonObject
from store.core.columns import SealedSecret, new_id, now_ms, sealed_columns, take_sealed
from store.core.errors import StoreError
from store.core.rows import all_rows, equal, one_row
from store.quota.tenant_rows import TenantRows
from store.targets.tables import targets

DESCRIBED = ("name", "kind", "protocol", "base_url", "settings", "limits")


@dataclass(frozen=True)
class NewTarget:
    """Fields of a new target.

    `protocol` is the API of the service. `limits` has concurrency, requests_per_second and timeout_s. `visibility` is
    ``private``, ``unlisted`` or ``public``. The secret is encrypted for this target's `id`.
    """

    tenant: str
    name: str
    kind: str
    protocol: str
    base_url: str
    settings: JsonObject
    limits: JsonObject
    visibility: str = "private"
    sealed_secret: SealedSecret | None = None
    id: str = field(default_factory=lambda: new_id("tgt"))


@dataclass(frozen=True, kw_only=True)
class StoredTarget(NewTarget):
    """A saved target. Times are milliseconds since 1970; every change increments `version`."""

    version: int
    created_at: int
    updated_at: int
    removed_at: int | None

    @property
    def secret_last4(self) -> str | None:
        """Last characters of the secret, or ``None`` if there is no secret."""
        return None if self.sealed_secret is None else self.sealed_secret.last4


def target_from(**row: Any) -> StoredTarget:
    """Build a target from a full row of the table."""
    return StoredTarget(sealed_secret=take_sealed(row), **row)  # `take_sealed`, evaluated first, shortens the row


ROWS = TenantRows(targets, target_from, blank={"settings": {}, **sealed_columns(None)})

remove = ROWS.remove
"""Remove a target, delete its settings and secret, and keep its ratings; return false if there is none."""


def add(c: Connection, target: NewTarget) -> StoredTarget:
    """Add a target."""
    row = {"id": target.id, "tenant": target.tenant, "version": 1, "created_at": now_ms(), "updated_at": now_ms()}
    return ROWS.add(c, row | _described_columns(target) | sealed_columns(target.sealed_secret))


def find(c: Connection, target_id: str, tenant: str | None, *, removed: bool = False) -> StoredTarget | None:
    """Read a tenant's target; with ``tenant=None``, a target of any tenant.

    A removed target is returned only with ``removed=True``, for jobs that were requested before.
    """
    conditions = equal(targets, id=target_id, tenant=tenant) if removed else ROWS.where(target_id, tenant)
    return one_row(c, ROWS.select(*conditions), target_from)


def find_by_ids(c: Connection, tenant: str, ids: Collection[str]) -> dict[str, StoredTarget]:
    """Read several of a tenant's targets by id in one query."""
    query = ROWS.select(targets.c.id.in_(set(ids)), targets.c.tenant == tenant, *ROWS.present)
    return {row.id: row for row in all_rows(c, query, target_from)}


def page(
    c: Connection,
    tenant: str,
    *,
    q: str | None = None,
    before: tuple[int, str] | None = None,
    limit: int,
    **filters: object,
) -> list[StoredTarget]:
    """List a tenant's targets as `TenantRows.page` does; `q` is searched for in names and addresses."""
    conditions = []
    if q is not None:
        conditions.append(or_(*(targets.c[name].icontains(q, autoescape=True) for name in ("name", "base_url"))))
    return ROWS.page(c, tenant, *conditions, before=before, limit=limit, **filters)


def replace(
    c: Connection,
    target_id: str,
    tenant: str,
    target: NewTarget,
    *,
    keep_secret: bool = False,
    version: int | None = None,
) -> StoredTarget | None:
    """Replace the description of a target; return ``None`` if the tenant has no such target or version.

    The id and the tenant of `target` are ignored; its secret must be encrypted for `target_id`. With `keep_secret`, the
    stored secret stays, since callers cannot read it and send it again. With `version`, only this version is replaced
    (``If-Match``).
    """
    values = _described_columns(target) | ({} if keep_secret else sealed_columns(target.sealed_secret))
    return ROWS.change(c, target_id, tenant, values, version=version)


def descriptor(target: StoredTarget) -> JsonObject:
    """Return the description that a job stores: everything except the secret."""
    return {name: getattr(target, name) for name in DESCRIBED}


def _described_columns(target: NewTarget) -> dict[str, Any]:
    return {name: getattr(target, name) for name in (*DESCRIBED, "visibility")}


CHAIN = "chain"
"""Protocol of targets that are chains of other targets (`workers.targets.chain.chain`)."""


class TargetRemoved(StoreError):
    """A saved target was removed, so that it can no longer be rated."""

    code = "target-removed"

    def __init__(self, target_id: str) -> None:
        super().__init__(f"the target {target_id} has been removed; use another target")
        self.target_id = target_id


class TargetChanged(StoreError):
    """A saved target is no longer of the same kind as at the time of the request."""

    code = "target-changed"

    def __init__(self, target_id: str, was: str, now: str) -> None:
        super().__init__(f"the target {target_id} was a {was} and is now a {now}; send a new request")
        self.target_id, self.was, self.now = target_id, was, now


def describe_now(c: Connection, tenant: str, target_id: str | None, target: Json) -> JsonObject:
    """Read the current description of a target, including the targets that a chain refers to.

    A secret is sent only to the saved address of its target. Therefore scheduled jobs read the description again
    before each run.

    `target_id` is ``None`` if the request contains the description; `target` is the description at the time of the
    request. Raise `TargetRemoved` or `TargetChanged` if the target, or a target of a chain, was removed or has another
    kind now.
    """
    description = dict(target)
    if target_id is not None:
        description = _descriptor_of_kind(find(c, target_id, tenant), target_id, target["kind"])
    if description["protocol"] != CHAIN:
        return description
    links = description["settings"]["links"]
    requested_kinds = [link.get("kind") for link in target["settings"].get("links", ())]
    saved_targets = find_by_ids(c, tenant, {link["id"] for link in links if "id" in link})
    links_and_kinds = zip_longest(links, requested_kinds[: len(links)])  # links that were added have no kind
    current_links = [_current_link(link, saved_targets, kind) for link, kind in links_and_kinds]
    return {**description, "settings": {**description["settings"], "links": current_links}}


def _current_link(link: Json, saved_targets: Mapping[str, StoredTarget], kind: str | None) -> JsonObject:
    """Return a link of a chain with the current description of its saved target; unchanged if it names none."""
    if "id" not in link:
        return dict(link)
    description = _descriptor_of_kind(saved_targets.get(link["id"]), link["id"], kind)
    return {"id": link["id"], **description, **({"path": link["path"]} if "path" in link else {})}


def _descriptor_of_kind(target: StoredTarget | None, target_id: str, kind: str | None) -> JsonObject:
    """Return the description of a target; raise an error if it is missing, or not of the expected `kind`, if any."""
    if target is None:
        raise TargetRemoved(target_id)
    if kind not in {None, target.kind}:
        raise TargetChanged(target_id, str(kind), target.kind)
    return descriptor(target)
