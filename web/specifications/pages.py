"""``/specifications``: the list, a specification in any version, and forms for new ones and new versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit, segment
from web.frame.visit import fields
from web.specifications.storing import store_new, store_version
from web.specifications.words import FIELDS, KINDS, typed_of, wrong_fields

pages = Pages()

LISTED = 100


@pages.get("/specifications")
async def specifications(visit: Visit) -> Response:
    """List the caller's own specifications and the shipped ones."""
    kind, cursor = visit.query("kind"), visit.query("cursor")
    page = await visit.api.get("/v1/specifications", kind=kind, cursor=cursor, limit=LISTED)
    context = {"specifications": page["items"], "cursor": page["next_cursor"], "kind": kind, "kinds": KINDS}
    return visit.page("specifications/list.html", **context)


@pages.get("/specifications/new")
async def new_specification(visit: Visit) -> Response:
    """Show the form for a new specification; `from` names a specification to copy."""
    begun = visit.query("from")
    kind, typed = visit.query("kind", "stereotype"), {}
    if begun:
        source = await visit.api.get(f"/v1/specifications/{segment(begun)}")
        kind, typed = source["kind"], {**source, **typed_of(source["kind"], source["words"])}
    return _form(visit, kind if kind in FIELDS else "stereotype", typed)


@pages.post("/specifications", "jobs:write")
async def create_specification(visit: Visit) -> Response:
    """Store a new specification."""
    typed = fields(await visit.form())
    kind = typed.get("kind", "") if typed.get("kind") in FIELDS else "stereotype"
    try:
        created = await store_new(visit, kind, typed)
    except Refused as refused:
        return _form(visit, kind, typed, refused=refused)
    return visit.redirect(f"/specifications/{created['name']}")


@pages.get("/specifications/{name}")
async def specification(visit: Visit) -> Response:
    """Show the words of a specification, in its newest version or another."""
    return visit.page("specifications/specification.html", found=await _found(visit), fields=FIELDS, kinds=KINDS)


@pages.get("/specifications/{name}/edit")
async def edit_specification(visit: Visit) -> Response:
    """Show the form for the words of the next version."""
    stored = await _found(visit)
    return _form(visit, stored["kind"], {**stored, **typed_of(stored["kind"], stored["words"])}, name=stored["name"])


@pages.post("/specifications/{name}", "jobs:write")
async def add_version(visit: Visit) -> Response:
    """Store the next version of the caller's own specification."""
    stored, typed = await _found(visit), fields(await visit.form())
    try:
        await store_version(visit, stored["kind"], typed, stored["name"])
    except Refused as refused:
        return _form(visit, stored["kind"], typed, name=stored["name"], refused=refused)
    return visit.redirect(f"/specifications/{stored['name']}")


@pages.post("/specifications/{name}/remove", "jobs:write")
async def remove_specification(visit: Visit) -> Response:
    """Remove all versions of the caller's own specification."""
    await visit.api.ask("DELETE", f"/v1/specifications/{visit.path('name')}")
    return visit.redirect("/specifications")


async def _found(visit: Visit) -> dict[str, Any]:
    path, version = f"/v1/specifications/{visit.path('name')}", visit.query("version")
    stored: dict[str, Any] = await visit.api.get(f"{path}/versions/{segment(version)}" if version else path)
    return stored


def _form(
    visit: Visit, kind: str, typed: Mapping[str, Any], *, name: str = "", refused: Refused | None = None
) -> Response:
    wrong = wrong_fields(kind, refused.errors) if refused else {}
    values = {"kind": kind, "typed": typed, "name": name, "wrong": wrong, "refused": refused}
    status = refused.status if refused else 200
    return visit.page("specifications/form.html", status, **values, fields=FIELDS[kind], kinds=KINDS)
