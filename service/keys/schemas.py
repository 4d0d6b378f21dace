"""API keys. The key itself is shown once, when it is made."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from service.http.openapi.common_schemas import Asked, Instant, Told, instant, maybe_instant
from store.security.keys import ApiKey

Scope = Literal["jobs:write", "ratings:read", "targets:write", "webhooks:write", "admin"]


class KeyRequest(Asked):
    """Ask for a key of your own tenant."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["catalog importer"])]
    """What it is for."""
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=10)]
    """What it allows; `admin` includes every other."""
    expires_in_s: Annotated[int, Field(ge=60, le=10 * 366 * 86_400)] | None = None
    """Seconds until it expires; null never."""


class KeyView(Told):
    """A key, without itself."""

    id: str
    name: str
    short: str
    """The part after `assay_`, by which a key can be recognised."""
    scopes: list[str]
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None
    revoked_at: Instant | None

    @classmethod
    def of(cls, key: ApiKey) -> Self:
        """Show a key."""
        return cls(
            id=key.id,
            name=key.name,
            short=key.short,
            scopes=list(key.scopes),
            created_at=instant(key.created_at),
            expires_at=maybe_instant(key.expires_at),
            last_used_at=maybe_instant(key.last_used_at),
            revoked_at=maybe_instant(key.revoked_at),
        )


class NewKeyView(KeyView):
    """A key that was just made."""

    key: str
    """The key. It is shown now and never again."""


class KeyList(Told):
    """One page of keys, newest first."""

    items: list[KeyView]
    next_cursor: str | None
