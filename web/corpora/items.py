"""Items of a corpus: edit one in place, change several, add sentences, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from service.http.problems import Problem
from web.corpora.review import corpus_of, way_back
from web.frame import Pages, Refused, Visit
from web.frame.form import SentFile
from web.frame.visit import fields

pages = Pages()

EDITED = ("text", "group_term", "attribute_term", "term")
"""Fields that the form of an item can edit."""


@pages.get("/corpora/{corpus_id}/items/{item_id}")
async def item(visit: Visit) -> Response:
    """Show the form that edits an item or, with `?row=1`, only its row, which a script puts in the form's place."""
    corpus = await corpus_of(visit)
    stored = await visit.api.get(_path(visit))
    back = way_back(visit.query("back"), corpus["id"])
    if visit.query("row"):
        return visit.page("corpora/row_alone.html", corpus=corpus, one=stored, here=back, focus=True)
    return _form(visit, corpus, stored, stored, back)


@pages.post("/corpora/{corpus_id}/items/{item_id}", "jobs:write")
async def change_item(visit: Visit) -> Response:
    """Edit or remove an item. If somebody else edited it first, show both texts to choose from."""
    typed, corpus = fields(await visit.form()), await corpus_of(visit)
    back, path = way_back(typed.get("back", ""), corpus["id"]), _path(visit)
    if typed.get("act") == "remove":
        await visit.api.ask("DELETE", path)
        return visit.page("corpora/removed.html", id=visit.path("item_id")) if visit.partial else visit.redirect(back)
    body = {name: typed[name] for name in EDITED if typed.get(name, "").strip()}
    try:
        edited = await visit.api.ask("PATCH", path, body=body, headers={"If-Match": typed.get("etag", "*")})
    except Refused as refused:
        if refused.status not in {409, 412, 422}:
            raise
        now = await visit.api.get(path)
        return _form(visit, corpus, now, {**now, **typed}, back, refused)
    if visit.partial:
        return visit.page("corpora/row_alone.html", corpus=corpus, one=edited.document, here=back, focus=True)
    return visit.redirect(f"{back}#{visit.path('item_id')}")


def _form(
    visit: Visit,
    corpus: Mapping[str, Any],
    now: Mapping[str, Any],
    typed: Mapping[str, Any],
    back: str,
    refused: Refused | None = None,
) -> Response:
    choice = refused is not None and refused.status == 412
    status = refused.status if refused else 200
    values = {"corpus": corpus, "now": now, "typed": typed, "back": back, "refused": refused, "choice": choice}
    return visit.page("corpora/item.html", status, **values)


@pages.get("/corpora/{corpus_id}/items/{item_id}/image")
async def picture(visit: Visit) -> Response:
    """Send the file of a picture."""
    return visit.api.passed_on(f"{_path(visit)}/image")


@pages.post("/corpora/{corpus_id}/selected", "jobs:write")
async def change_selected(visit: Visit) -> Response:
    """Remove the ticked items of a page, or all items that are not ticked."""
    form, corpus_id = await visit.form(), visit.path("corpus_id")
    ticked = [str(value) for value in form.getlist("item")]
    listed_ids = str(form.get("shown", "")).split()
    removed = ticked if form.get("act") == "remove" else [item_id for item_id in listed_ids if item_id not in ticked]
    if ticked and removed:
        await visit.api.ask("PATCH", f"/v1/corpora/{corpus_id}/items", body={"remove": removed})
    return visit.redirect(way_back(str(form.get("back", "")), corpus_id))


@pages.get("/corpora/{corpus_id}/add")
async def add_items(visit: Visit) -> Response:
    """Show the forms that add sentences, a table of sentences, or pictures."""
    corpus = await corpus_of(visit)
    return _adding(visit, corpus, way_back(visit.query("back"), corpus["id"]))


@pages.post("/corpora/{corpus_id}/items", "jobs:write")
async def add_sentences(visit: Visit) -> Response:
    """Add the sentences that were typed, one a line."""
    typed = fields(await visit.form())
    lines = [line.strip() for line in typed.get("sentences", "").splitlines() if line.strip()]
    terms = {name: typed[name].strip() for name in ("group_term", "attribute_term") if typed.get(name, "").strip()}
    return await _added(visit, typed, "items", body={"items": [{"text": line, **terms} for line in lines]})


@pages.post("/corpora/{corpus_id}/import", "jobs:write", with_file=True)
async def import_sentences(visit: Visit) -> Response:
    """Add the sentences of a CSV file."""
    file, typed = await _file_of(visit), fields(await visit.form())
    return await _added(visit, typed, "import", file=file, headers={"content-type": "text/csv"})


@pages.post("/corpora/{corpus_id}/images", "jobs:write", with_file=True)
async def add_picture(visit: Visit) -> Response:
    """Add a picture file with the term that it shows."""
    file, typed = await _file_of(visit), fields(await visit.form())
    query, kind = {"term": typed.get("term", "").strip()}, {"content-type": "application/octet-stream"}
    return await _added(visit, typed, "images", query=query, file=file, headers=kind)


async def _file_of(visit: Visit) -> SentFile:
    sent = (await visit.form()).file
    if sent is None:
        raise Problem("invalid-request", "choose a file")
    return sent


async def _added(visit: Visit, typed: Mapping[str, str], path: str, **sent: Any) -> Response:
    corpus = await corpus_of(visit)
    back = way_back(typed.get("back", ""), corpus["id"])
    try:
        await visit.api.ask("POST", f"/v1/corpora/{corpus['id']}/{path}", **sent)
    except Refused as refused:
        return _adding(visit, corpus, back, refused, typed)
    return visit.redirect(back)


def _adding(
    visit: Visit,
    corpus: Mapping[str, Any],
    back: str,
    refused: Refused | None = None,
    typed: Mapping[str, str] | None = None,
) -> Response:
    values = {"corpus": corpus, "back": back, "refused": refused, "typed": typed or {}}
    return visit.page("corpora/add.html", refused.status if refused else 200, **values)


def _path(visit: Visit) -> str:
    return f"/v1/corpora/{visit.path('corpus_id')}/items/{visit.path('item_id')}"
