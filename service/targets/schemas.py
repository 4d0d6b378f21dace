"""Schemas of targets: the rated services."""

from typing import Annotated, Self

from pydantic import Field, SecretStr

from assay.canonical import described_digest
from assay.document import JsonObject
from service.http.openapi.common_schemas import Instant, KindName, LetterName, RequestModel, ResponseModel, Url
from store.core.columns import iso
from store.ratings.services import NewestRating
from store.targets.targets import StoredTarget


class Limits(RequestModel):
    """Limits of the load on a target."""

    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    """Maximum number of concurrent calls."""
    requests_per_second: Annotated[float, Field(ge=0.001, le=10_000)] | None = None
    """Maximum calls per second, over all jobs; null means no limit but the target's own (429)."""
    timeout_s: Annotated[float, Field(ge=0.05, le=600)] = 30
    """Seconds after which a call is given up."""


class TargetDescription(RequestModel):
    """A service to rate, and its connection."""

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["Apertium eng-spa"])] | None = None
    """Name for people; null means the host, or the protocol if there is no address."""
    kind: KindName
    """Kind of service; it determines the possible methods."""
    protocol: Annotated[str, Field(min_length=1, max_length=50, examples=["libretranslate"])]
    """Protocol of the service; see `/v1/protocols`."""
    base_url: Url | None = None
    """Address of the service; some protocols need none."""
    secret: Annotated[SecretStr, Field(min_length=1, max_length=8192)] | None = None
    """Key or token of the service. Stored encrypted, and never shown."""
    settings: Annotated[JsonObject, Field(max_length=50, default_factory=dict)]
    """Settings of the protocol; their schema is at `/v1/protocols`."""
    limits: Limits = Limits()
    """Limits of the load on the service."""


class TargetReference(RequestModel):
    """A saved target."""

    id: Annotated[str, Field(max_length=64, examples=["tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])]
    """Id of the target, from `POST /v1/targets`."""


class TargetView(ResponseModel):
    """A saved target. Only the last characters of its secret are shown."""

    id: str
    name: str
    kind: str
    protocol: str
    base_url: str | None
    secret_hint: Annotated[str | None, Field(examples=["…x9f2"])]
    """The last characters of the secret, at most four; null if there is no secret."""
    settings: JsonObject
    limits: JsonObject
    digest: str
    """SHA-256 digest of kind, protocol, address and settings; ratings name this digest."""
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, row: StoredTarget) -> Self:
        """Build the view of a stored target."""
        return cls.from_row(
            row, base_url=row.base_url or None, secret_hint=hint(row.secret_last4), digest=described_digest(vars(row))
        )


class NewestLetterView(ResponseModel):
    """Your newest rating of a service."""

    id: str
    href: str
    method: str
    attribute: str
    letter: LetterName | None
    """The likeliest letter; null if nothing could be measured."""
    declared: bool
    """False if the letter is only the likeliest."""
    rated_at: Instant

    @classmethod
    def of(cls, row: NewestRating | None) -> Self | None:
        """Build the view of a rating; ``None`` without a rating."""
        return None if row is None else cls.from_row(row, href=f"/v1/ratings/{row.id}", rated_at=iso(row.created_at))


class TargetLine(TargetView):
    """A saved target with its newest letter."""

    newest: NewestLetterView | None = None
    """Your newest rating of exactly this description, without withdrawn ones; null if there is none."""


def hint(last4: str | None) -> str | None:
    """Return a secret's hint, such as ``…x9f2``, from its last four characters; ``None`` without a secret."""
    return None if last4 is None else f"…{last4}"
