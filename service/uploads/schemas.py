"""Schemas of uploads: files for use in jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from service.http.openapi.common_schemas import Instant, ResponseModel, instant
from service.http.pagination import PageQuery
from store.corpora.uploads import StoredUpload

Purpose = Literal["table", "embedding", "trials"]


class UploadForm(BaseModel):
    """Query parameters of an upload."""

    model_config = ConfigDict(extra="forbid")

    purpose: Annotated[Purpose, Field(description="Purpose of the file.")]
    name: Annotated[str, Field(min_length=1, max_length=200, description="Name for people.", examples=["census"])]


class UploadQuery(PageQuery):
    """Filters of the list of uploads."""

    purpose: Annotated[Purpose | None, Field(description="Purpose of the files.")] = None


class UploadLine(ResponseModel):
    """An upload in a list."""

    id: str
    name: str
    purpose: Purpose
    media_type: str
    digest: Annotated[str, Field(examples=["sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"])]
    """Digest of its bytes. Jobs and targets can name an upload by its digest or its id."""
    bytes: int
    created_at: Instant

    @classmethod
    def of(cls, row: StoredUpload) -> Self:
        """Build the view of a stored upload."""
        return cls(**_plain(row))


class UploadView(UploadLine):
    """An upload with a summary of its content."""

    summary: dict[str, Any]
    """A table: `rows`, and `columns` with `name`, `type`, `missing`, `distinct` (null: more than 50) and `values` if
    there are few. An embedding: `words`, `dims`, `zero_vectors`, `sample`. Trials: `rows`, `trials`, `concepts`,
    `levels`, `lowest`, `highest`, `subjects`."""

    @classmethod
    def of(cls, row: StoredUpload) -> Self:
        """Build the full view of a stored upload."""
        return cls(**_plain(row), summary=row.summary)


class UploadList(ResponseModel):
    """One page of uploads, newest first."""

    items: list[UploadLine]
    next_cursor: str | None


def _plain(row: StoredUpload) -> dict[str, Any]:
    plain = {name: getattr(row, name) for name in ("id", "name", "purpose", "media_type", "digest", "bytes")}
    return {**plain, "created_at": instant(row.created_at)}
