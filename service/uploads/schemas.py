"""Uploads: files for jobs to use."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from service.http.openapi.common_schemas import Instant, Told, instant
from service.http.pagination import PageQuery
from store.corpora.uploads import StoredUpload

Purpose = Literal["table", "embedding", "trials"]


class UploadForm(BaseModel):
    """What is said of a file beside its bytes."""

    model_config = ConfigDict(extra="forbid")

    purpose: Annotated[Purpose, Field(description="What it is for.")]
    name: Annotated[str, Field(min_length=1, max_length=200, description="What people call it.", examples=["census"])]


class UploadQuery(PageQuery):
    """What the list of uploads is narrowed to."""

    purpose: Annotated[Purpose | None, Field(description="What they are for.")] = None


class UploadLine(Told):
    """An upload in a list."""

    id: str
    name: str
    purpose: Purpose
    media_type: str
    digest: Annotated[str, Field(examples=["sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"])]
    """Of its bytes. Jobs and targets may name an upload by it as well as by its id."""
    bytes: int
    created_at: Instant

    @classmethod
    def of(cls, row: StoredUpload) -> Self:
        """Show a stored upload."""
        return cls(**_plain(row))


class UploadView(UploadLine):
    """An upload and what was found in it."""

    summary: dict[str, Any]
    """A table: `rows`, and `columns` with `name`, `type`, `missing`, `distinct` (null: more than 50) and `values` where
    they are few. An embedding: `words`, `dims`, `zero_vectors`, `sample`. Trials: `rows`, `trials`, `concepts`,
    `levels`, `lowest`, `highest`, `subjects`."""

    @classmethod
    def of(cls, row: StoredUpload) -> Self:
        """Show a stored upload in full."""
        return cls(**_plain(row), summary=row.summary)


class UploadList(Told):
    """One page of uploads, newest first."""

    items: list[UploadLine]
    next_cursor: str | None


def _plain(row: StoredUpload) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in ("id", "name", "purpose", "media_type", "digest", "bytes")}
    return {**told, "created_at": instant(row.created_at)}
