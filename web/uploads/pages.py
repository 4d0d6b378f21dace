"""``/uploads``: pages that send, list, show and remove files for jobs."""

from __future__ import annotations

from starlette.responses import Response

from web.frame import Pages, Visit
from web.frame.sent_file import send_file

pages = Pages()

PURPOSES = {"table": "Table of people and predictions", "embedding": "Word vectors", "trials": "Trials of a choice"}


@pages.get("/uploads")
async def uploads(visit: Visit) -> Response:
    """List the uploads, with a form for a new one."""
    page = await visit.api.get("/v1/uploads", cursor=visit.query("cursor"), limit=100)
    return visit.page("uploads/list.html", uploads=page["items"], older=visit.older(page), purposes=PURPOSES)


@pages.post("/uploads", "jobs:write", with_file=True, form_page=uploads)
async def send_upload(visit: Visit) -> Response:
    """Send a file to the API."""
    await send_file(visit, visit.typed.get("purpose", "table"))
    return visit.redirect("/uploads")


@pages.get("/uploads/{upload_id}")
async def upload(visit: Visit) -> Response:
    """Show the summary of an upload."""
    document = await visit.api.get(f"/v1/uploads/{visit.path('upload_id')}")
    return visit.page("uploads/upload.html", found=document, purposes=PURPOSES)


pages.act("/uploads/{upload_id}/remove", "jobs:write", "DELETE", "/v1/uploads/{upload_id}", "/uploads")
