"""Schemas of uploads: files for use in jobs."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from assay.document import JsonObject
from service.http.openapi.common_schemas import Instant, QueryModel, ResponseModel, check_name
from service.http.rows import PageQuery

Purpose = Literal["table", "embedding", "trials"]


class UploadForm(QueryModel):
    """Query parameters of an upload."""

    purpose: Annotated[Purpose, Field(description="Purpose of the file.")]
    name: Annotated[
        str,
        Field(min_length=1, max_length=200, description="Name for people.", examples=["census"]),
        AfterValidator(check_name),
    ]
    decimal: Annotated[
        Literal["point", "comma"] | None,
        Field(description="Sign before decimals in the texts of a table; by default the one by which a column fits."),
    ] = None
    sheet: Annotated[
        str | None,
        Field(min_length=1, max_length=31, description="Sheet of an xlsx file; by default the only one with cells."),
        AfterValidator(check_name),
    ] = None


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
    """Digest of the file's bytes. Jobs and targets can name an upload by its digest or its id."""
    bytes: int
    created_at: Instant


class UploadView(UploadLine):
    """An upload with a summary of its content."""

    summary: JsonObject
    """A table: `rows`, `columns` with `name`, `type`, `missing`, `distinct` (null: more than 50) and `values` if there
    are few (also `decimal` and `marks` of missing values where they are not the usual ones), `first`, the first rows as
    texts, and `notes`: how cells were read where this was not literal; `encoding`, `sheet` and `reading`, what the
    sender said.
    An embedding: `words`, `dims`, `zero_vectors`, `sample`. Trials: `rows`, `trials`, `concepts`, `levels`, `lowest`,
    `highest`, `subjects`."""
