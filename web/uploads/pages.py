"""``/uploads``: pages that send, list, show and remove files for jobs."""

from starlette.responses import Response

from web.frame import Pages, Visit
from web.frame.sent_file import send_file

pages = Pages()


@pages.get("/uploads")
async def uploads(visit: Visit) -> Response:
    """List the uploads, with a form for a new one."""
    return visit.page("uploads/list.html", **await visit.listing("/v1/uploads", limit=100))


@pages.post("/uploads", "jobs:write", with_file=True, form_page=uploads)
async def send_upload(visit: Visit) -> Response:
    """Send a file to the API."""
    await send_file(visit, visit.typed.get("purpose", "table"))
    return visit.redirect("/uploads")


@pages.get("/uploads/{upload_id}")
async def upload(visit: Visit) -> Response:
    """Show the summary of an upload."""
    return visit.page("uploads/upload.html", upload=await visit.api.get(f"/v1/uploads/{visit.path('upload_id')}"))


pages.act("/uploads/{upload_id}/remove", "jobs:write", "DELETE", "/v1/uploads/{upload_id}", "/uploads")
