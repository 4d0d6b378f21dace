"""Pages ``/problems``, ``/problems/{code}`` and ``/docs``; programs get JSON at the same addresses."""

from __future__ import annotations

from starlette.responses import Response

from web.frame import Pages, Visit

pages = Pages(public=True, negotiated=True)


@pages.get("/problems")
async def problems(visit: Visit) -> Response:
    """List all kinds of problems."""
    listing = await visit.api.get("/problems")
    return _negotiated(visit.page("public/problems.html", problems=listing["items"], one=None))


@pages.get("/problems/{code}")
async def problem(visit: Visit) -> Response:
    """Explain one kind of problem."""
    document = await visit.api.get(f"/problems/{visit.path('code')}")
    return _negotiated(visit.page("public/problems.html", problems=[document], one=document))


@pages.get("/docs")
async def docs(visit: Visit) -> Response:
    """Show links to the API documentation, with a first request."""
    return _negotiated(
        visit.page(
            "public/docs.html",
            info=await visit.api.get("/v1/info"),
            methods=(await visit.api.get("/v1/methods"))["items"],
            base=visit.base_url,
        )
    )


def _negotiated(response: Response) -> Response:
    """Set ``Vary``, so that caches separate the page from the JSON at the same address."""
    response.headers["Vary"] = "Accept"
    return response
