"""``/specifications``: the list, a specification in any version, and forms for new ones and new versions."""

from starlette.responses import Response

from assay.document import Json, JsonObject
from web.frame import Pages, Visit, segment
from web.specifications.words import FIELDS, store_new, store_version, typed_of, wrong_fields

pages = Pages()


@pages.get("/specifications")
async def specifications(visit: Visit) -> Response:
    """List the caller's own specifications and the shipped ones."""
    return visit.page("specifications/list.html", **await visit.listing("/v1/specifications", ("kind",), limit=100))


@pages.get("/specifications/new")
async def new_specification(visit: Visit) -> Response:
    """Show the form for a new specification; the query parameter `from` names a specification to copy."""
    source_name, kind, texts = visit.query("from"), visit.query("kind"), dict(visit.typed)
    if source_name and not texts:
        source = await visit.api.get(f"/v1/specifications/{segment(source_name)}")
        kind = source["kind"]
        texts = {**source, **typed_of(kind, source["words"])}
    return _show_form(visit, _known_kind(texts.get("kind", kind)), texts)


def _known_kind(text: str) -> str:
    return text if text in FIELDS else "stereotype"


@pages.post("/specifications", "jobs:write", form_page=new_specification)
async def create_specification(visit: Visit) -> Response:
    """Store a new specification."""
    specification_document = await store_new(visit, _known_kind(visit.typed.get("kind", "")), visit.typed)
    return visit.redirect(f"/specifications/{specification_document['name']}")


@pages.get("/specifications/{name}")
async def specification(visit: Visit) -> Response:
    """Show the words of a specification, in its newest version or another."""
    return visit.page("specifications/specification.html", specification=await _read_stored(visit), fields=FIELDS)


@pages.get("/specifications/{name}/edit")
async def edit_specification(visit: Visit) -> Response:
    """Show the form for the words of the next version."""
    document = await _read_stored(visit)
    texts = visit.typed or {**document, **typed_of(document["kind"], document["words"])}
    return _show_form(visit, document["kind"], texts, name=document["name"])


@pages.post("/specifications/{name}", "jobs:write", form_page=edit_specification)
async def add_version(visit: Visit) -> Response:
    """Store the next version of the caller's own specification."""
    document = await _read_stored(visit)
    await store_version(visit, document["kind"], visit.typed, document["name"])
    return visit.redirect(f"/specifications/{document['name']}")


pages.act("/specifications/{name}/remove", "jobs:write", "DELETE", "/v1/specifications/{name}", "/specifications")


async def _read_stored(visit: Visit) -> JsonObject:
    path = f"/v1/specifications/{visit.path('name')}"
    version = visit.query("version")
    return dict(await visit.api.get(f"{path}/versions/{segment(version)}" if version else path))


def _show_form(visit: Visit, kind: str, texts: Json, *, name: str = "") -> Response:
    errors = wrong_fields(kind, visit.refused.errors) if visit.refused else {}
    return visit.page("specifications/form.html", kind=kind, typed=texts, name=name, wrong=errors, fields=FIELDS[kind])
