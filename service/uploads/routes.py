"""``/v1/uploads``: tables, embeddings and trials for jobs to use."""

from email.message import Message
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from assay.errors import SpecificationError
from service.container import ServiceDependency
from service.http.authentication import Reader, Writer
from service.http.conditional import entity_tag
from service.http.json import StrictRoute, json_response, tagged
from service.http.middleware import UPLOADS
from service.http.openapi.responses import CONFLICT, TAGGED, created, file_body, leads_to
from service.http.problems import Problem, removed
from service.http.rows import Lists, in_path, lists_of
from service.uploads.schemas import UploadForm, UploadLine, UploadQuery, UploadView
from service.uploads.service import keep, received_file
from store.corpora import uploads
from store.corpora.uploads import StoredUpload
from store.formats import CSV, NPZ, PURPOSES, XLSX
from store.formats.csv_rows import encoding_named

router = APIRouter(prefix=UPLOADS, tags=["uploads"], route_class=StrictRoute)

UPLOAD_LINKS = leads_to("upload_id", "getUpload", "removeUpload")

FoundUpload = Annotated[StoredUpload, in_path("upload", uploads.find, Reader)]

ALIASES: dict[str, str] = {
    "application/vnd.ms-excel.sheet.macroenabled.12": XLSX,
    "application/zip": NPZ,
    "application/x-npz": NPZ,
}
"""Aliases of the media types of `PURPOSES`."""

_TYPES = dict.fromkeys(media_type for media_types, _ in PURPOSES.values() for media_type in media_types)
_BODY = file_body(
    "The file itself: CSV or xlsx (with a header) or Parquet for a table, npz (`words`, `vectors`) or word2vec's text "
    "for an embedding, CSV or xlsx for trials.",
    *_TYPES,
)


@router.post("", **created(UploadView, "Stored.", UPLOAD_LINKS, may_exist=True), openapi_extra=_BODY)
async def send_upload(
    request: Request, service: ServiceDependency, caller: Writer, form: Annotated[UploadForm, Query()]
) -> Response:
    """Upload a file. The same bytes for the same purpose are stored once: a repeated upload is answered with 200.

    The whole file is validated before it is stored; 422 names the invalid line and column. A table in CSV has the form
    that a spreadsheet gives it: commas, semicolons or tabs, a decimal point or comma, UTF-8, UTF-16, or the `charset`
    that `Content-Type` names. Of a table in xlsx the only sheet with cells is read, or the one that `sheet` names. The
    summary's `notes` say how it was read.
    """
    media_type = _accepted_media_type(request, form.purpose)
    reading = _reading_options(request, form, media_type)
    async with received_file(request, caller.tenant) as received:
        upload, is_new = await keep(service, caller.tenant, form.name, form.purpose, media_type, received, reading)
    headers = {"Location": f"{router.prefix}/{upload.id}", "ETag": entity_tag(upload.id)}
    return json_response(UploadView.from_row(upload), status=201 if is_new else 200, headers=headers)


@router.get("", **lists_of(UploadLine, "One page of uploads, newest first."))
async def list_uploads(lists: Lists, caller: Reader, query: Annotated[UploadQuery, Query()]) -> Response:
    """List your uploads, newest first."""
    return await lists.page(query, "uploads", UploadLine.from_row, uploads.page, caller.tenant)


@router.get("/{upload_id}", response_model=UploadView, responses=TAGGED)
async def get_upload(row: FoundUpload) -> Response:
    """Read the summary of an upload. Its content cannot be downloaded."""
    return tagged(UploadView.from_row(row), entity_tag(row.id))


@router.delete("/{upload_id}", status_code=204, response_description="Removed.", responses=CONFLICT)
async def remove_upload(upload_id: str, service: ServiceDependency, caller: Writer) -> Response:
    """Remove an upload and its content. 409 while a queued or running job uses it; ratings stay."""
    return removed(await service.database.write(uploads.remove, upload_id, caller.tenant), "upload", upload_id)


def _reading_options(request: Request, form: UploadForm, media_type: str) -> dict[str, str]:
    """Return the sender's options for reading a table: encoding of CSV, sheet of xlsx, decimal sign."""
    message = Message()  # parses the parameters of a media type
    message["content-type"] = request.headers.get("content-type", "")
    charset = str(message.get_param("charset", "utf-8"))
    if form.decimal is not None and (form.purpose != "table" or media_type not in {CSV, XLSX}):
        raise SpecificationError("a decimal sign can be given for a table in CSV or xlsx only", "decimal")
    if form.sheet is not None and (form.purpose != "table" or media_type != XLSX):
        raise SpecificationError("a sheet can be given for a table in xlsx only", "sheet")
    reading = {"decimal": form.decimal, "sheet": form.sheet}
    if form.purpose == "table" and media_type == CSV and (encoding := encoding_named(charset)) != "utf-8":
        reading["encoding"] = encoding
    return {name: value for name, value in reading.items() if value is not None}


def _accepted_media_type(request: Request, purpose: str) -> str:
    declared_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    media_type = ALIASES.get(declared_type, declared_type)
    accepted_types, _ = PURPOSES[purpose]
    if media_type not in accepted_types:
        declaration = f"declared as {declared_type[:80]!r}" if declared_type else "not declared"
        detail = f"the file is {declaration}; an upload of purpose {purpose} is {' or '.join(accepted_types)}"
        raise Problem(
            "unsupported-upload-type",
            detail,
            errors=[{"header": "Content-Type", "detail": detail}],
            headers={"Accept": ", ".join(accepted_types)},
        )
    return media_type
