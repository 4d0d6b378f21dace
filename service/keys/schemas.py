"""Schemas of API keys. The key itself is shown once, at its creation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from service.http.openapi.common_schemas import Instant, RequestModel, ResponseModel
from store.security.rights import Scope


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
