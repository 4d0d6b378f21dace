"""Targets: the services that are rated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, SecretStr

from assay.canonical import target_digest
from service.http.openapi.common_schemas import Asked, Instant, KindName, Told, Url, instant
from store.targets.targets import StoredTarget


class Limits(Asked):
    """How hard a target may be worked."""

    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    """Calls in flight at once."""
    requests_per_second: Annotated[float, Field(gt=0, le=10_000)] | None = None
    """Calls a second, over all jobs; null leaves it to the target's own refusals."""
    timeout_s: Annotated[float, Field(ge=0.05, le=600)] = 30
    """Seconds until a call is given up."""


class TargetDescription(Asked):
    """A service to be rated, and how to reach it."""

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["Apertium eng-spa"])]
    """What people call it."""
    kind: KindName
    """What it does, which decides the questions it can be asked."""
    protocol: Annotated[str, Field(min_length=1, max_length=50, examples=["libretranslate"])]
    """How it speaks; see `/v1/protocols`."""
    base_url: Url | None = None
    """Where it is; some protocols need none."""
    secret: Annotated[SecretStr, Field(min_length=1, max_length=8192)] | None = None
    """Its key or token. Sealed before it is stored, and never shown again."""
    settings: Annotated[dict[str, Any], Field(max_length=50, default_factory=dict)]
    """The protocol's own settings; their schema is at `/v1/protocols`."""
    limits: Limits = Limits()
    """How hard it may be worked."""


class TargetReference(Asked):
    """A target that was saved before."""

    id: Annotated[str, Field(max_length=64, examples=["tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])]
    """Its id, from `POST /v1/targets`."""


class TargetView(Told):
    """A saved target. Its secret is never shown, only its last characters."""

    id: str
    name: str
    kind: str
    protocol: str
    base_url: str | None
    secret_hint: Annotated[str | None, Field(examples=["…x9f2"])]
    """The last four characters of the secret, or null where there is none."""
    settings: dict[str, Any]
    limits: dict[str, Any]
    digest: str
    """What ratings know it by: sha256 over kind, protocol, address and settings."""
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, row: StoredTarget) -> Self:
        """Show a stored target."""
        return cls(
            id=row.id,
            name=row.name,
            kind=row.kind,
            protocol=row.protocol,
            base_url=row.base_url or None,
            secret_hint=hint(row.secret_last4),
            settings=row.settings,
            limits=row.limits,
            digest=digest_of_target(vars(row)),
            created_at=instant(row.created_at),
            updated_at=instant(row.updated_at),
        )


class TargetList(Told):
    """One page of targets, newest first."""

    items: list[TargetView]
    next_cursor: str | None


def hint(last4: str | None) -> str | None:
    """Show which secret it is without showing it."""
    return None if last4 is None else f"…{last4}"


def digest_of_target(descriptor: Mapping[str, Any]) -> str:
    """Give the digest that a target's ratings carry (`assay.canonical.target_digest`)."""
    return target_digest(
        {
            "kind": descriptor["kind"],
            "protocol": descriptor["protocol"],
            "url": descriptor["base_url"],
            "settings": descriptor["settings"],
        }
    )
