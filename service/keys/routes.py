"""``/v1/keys``: API keys of your tenant."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from service.container import ServiceDependency
from service.http.authentication import Admin
from service.http.json import StrictRoute, json_response
from service.http.openapi.common_schemas import Instant, RequestModel, ResponseModel
from service.http.openapi.responses import LOCATION, leads_to, returns
from service.http.problems import removed, scope_missing
from service.http.rows import Lists, Paging, lists_of
from store.core.columns import read_clock
from store.core.database import Connection
from store.security import keys
from store.security.keys import ApiKey
from store.security.rights import Scope

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=StrictRoute)


class KeyRequest(RequestModel):
    """Request to create a key for your tenant."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["catalog importer"])]
    """Purpose of the key, for people."""
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=10)]
    """Scopes of the key; `admin` includes every other scope."""
    expires_in_s: Annotated[int, Field(ge=60, le=10 * 366 * 86_400)] | None = None
    """Seconds until the key expires; null means never."""


class KeyView(ResponseModel):
    """The description of a key, without the key itself."""

    id: str
    name: str
    short: str
    """The part after `assay_`, which identifies the key."""
    scopes: list[str]
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None
    revoked_at: Instant | None


class NewKeyView(KeyView):
    """A new key."""

    key: str
    """The key itself, shown only in this answer."""


@router.post(
    "",
    status_code=201,
    response_model=NewKeyView,
    response_description="Created.",
    responses=returns(LOCATION, status=201, links=leads_to("key_id", "revokeKey")),
)
async def create_key(body: KeyRequest, service: ServiceDependency, caller: Admin) -> Response:
    """Create a key. It is shown in this answer and never again."""
    if "metrics:read" in body.scopes and not caller.may("metrics:read"):
        raise scope_missing("metrics:read")
    key, plain_text = await service.database.write(_create_key, caller.tenant, body)
    view = NewKeyView.from_row(key, key=plain_text)
    headers = {"Location": f"{router.prefix}/{key.id}", "Cache-Control": "no-store"}
    return json_response(view, status=201, headers=headers)


@router.get("", **lists_of(KeyView, "One page of keys, newest first."))
async def list_keys(lists: Lists, caller: Admin, query: Paging) -> Response:
    """List your tenant's keys, newest first, revoked ones included. The keys themselves are not stored."""
    return await lists.page(query, "keys", KeyView.from_row, keys.page, caller.tenant)


@router.delete("/{key_id}", status_code=204, response_description="Revoked.")
async def revoke_key(key_id: str, service: ServiceDependency, caller: Admin) -> Response:
    """Revoke a key, immediately and permanently."""
    was_revoked = await service.database.write(keys.revoke, key_id, caller.tenant)
    service.recent_keys.clear()
    return removed(was_revoked, "key", key_id)


def _create_key(c: Connection, tenant: str, body: KeyRequest) -> tuple[ApiKey, str]:
    """Create a key; return it and its plain text. Its expiry is by the database's clock, which also checks it."""
    expires_at = None if body.expires_in_s is None else read_clock(c) + body.expires_in_s * 1000
    return keys.create(c, tenant, body.scopes, body.name, expires_at)
