"""``/uploads``: files for jobs: sent by a form, listed, removed."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit

pages = Pages()

PURPOSES = {"table": "Table of people and predictions", "embedding": "Word vectors", "trials": "Trials of a choice"}
TYPES = {
    "csv": "text/csv",
    "tsv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "npz": "application/x-numpy-npz",
    "txt": "text/plain",
    "vec": "text/plain",
}
"""Media types by the ending of a file's name."""

PURPOSE_TABLE = {TYPES["csv"], TYPES["parquet"]}
"""Media types of tables."""

ENCODING = re.compile(r"[A-Za-z0-9_.:-]{1,40}")


@pages.get("/uploads")
async def uploads(visit: Visit) -> Response:
    """List the uploads, with a form for a new one."""
    page = await visit.api.get("/v1/uploads", cursor=visit.query("cursor"), limit=100)
    return visit.page("uploads/list.html", uploads=page["items"], cursor=page["next_cursor"], purposes=PURPOSES)


@pages.post("/uploads", "jobs:write", with_file=True, form_page=uploads)
async def send_upload(visit: Visit) -> Response:
    """Send a file to the API."""
    await send_file(visit, visit.typed.get("purpose", "table"))
    return visit.redirect("/uploads")


async def send_file(visit: Visit, purpose: str) -> dict[str, Any]:
    """Send the file of a form to the API, and return the upload.

    The file's ending decides its media type, or else the browser does; the form may have the fields of
    ``uploads/reading.html``, which say how a table is written.

    Raises
    ------
    Refused
        If the API refuses the file, or the form has none.
    """
    typed, file = visit.typed, visit.form.file
    if file is None or not file.name:
        raise unreadable("file", "choose a file")
    kind = TYPES.get(file.name.rpartition(".")[2].lower(), file.media_type or "application/octet-stream")
    if purpose == "table" and kind not in PURPOSE_TABLE:
        kind = TYPES["csv"]  # a text with another ending is read; for other formats the API says what to save instead
    query = {"purpose": purpose, "name": typed.get("name", "").strip() or file.name[:200]}
    if decimal := typed.get("decimal"):
        query["decimal"] = decimal
    if kind == TYPES["csv"] and (encoding := typed.get("encoding", "").strip()):
        if not ENCODING.fullmatch(encoding):
            raise unreadable("encoding", "an encoding has letters and digits in its name, such as windows-1252")
        kind = f"{kind}; charset={encoding}"
    answer = await visit.api.ask("POST", "/v1/uploads", query=query, file=file, headers={"content-type": kind})
    sent: dict[str, Any] = answer.document
    return sent


def unreadable(field: str, detail: str) -> Refused:
    """Return the refusal of a form because of one field."""
    return Refused.unreadable([{"pointer": f"/{field}", "detail": detail}])


@pages.get("/uploads/{upload_id}")
async def upload(visit: Visit) -> Response:
    """Show the summary of an upload."""
    document = await visit.api.get(f"/v1/uploads/{visit.path('upload_id')}")
    return visit.page("uploads/upload.html", found=document, purposes=PURPOSES)


pages.act("/uploads/{upload_id}/remove", "jobs:write", "DELETE", "/v1/uploads/{upload_id}", "/uploads")
