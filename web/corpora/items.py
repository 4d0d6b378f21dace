"""Items of a corpus: edit one in place, change several, add sentences, tables and pictures."""

from typing import Any

from starlette.responses import Response

from service.http.problems import Problem
from web.corpora.review import corpus_of
from web.frame import Pages, Visit
from web.frame.form import SentFile, lines_of
from web.frame.visit import is_own_page

pages = Pages()

EDITED = ("text", "group_term", "attribute_term", "term")
"""Fields that the form of an item can edit."""


@pages.get("/corpora/{corpus_id}/items/{item_id}")
async def item(visit: Visit) -> Response:
    """Show the form that edits an item or, with `?row=1`, only the item's row, which a script puts in the form's place.

    If somebody else edited the item first, show both texts to choose from.
    """
    corpus = await corpus_of(visit)
    document = await visit.api.get(_item_path(visit))
    back = _return_page(visit)
    if visit.query("row"):
        return visit.page("corpora/row_alone.html", corpus=corpus, item=document, return_page=back, focus=True)
    was_edited = visit.refused is not None and visit.refused.status == 412  # another edit changed the entity tag
    typed = {**document, **visit.typed}
    return visit.page("corpora/item.html", corpus=corpus, item=document, typed=typed, back=back, choice=was_edited)


@pages.post("/corpora/{corpus_id}/items/{item_id}", "jobs:write", form_page=item)
async def change_item(visit: Visit) -> Response:
    """Edit or remove an item; a script (`partial`) gets the item's new row, and a browser the page of items."""
    texts, back = visit.typed, _return_page(visit)
    path = _item_path(visit)
    if texts.get("act") == "remove":
        await visit.api.ask("DELETE", path)
        return visit.page("corpora/removed.html", id=visit.path("item_id")) if visit.partial else visit.redirect(back)
    body = {name: texts[name] for name in EDITED if texts.get(name, "").strip()}
    answer = await visit.api.ask("PATCH", path, body=body, headers={"If-Match": texts.get("etag", "*")})
    if visit.partial:
        corpus = await corpus_of(visit)
        return visit.page("corpora/row_alone.html", corpus=corpus, item=answer.document, return_page=back, focus=True)
    return visit.redirect(f"{back}#{visit.path('item_id')}")


pages.file("/corpora/{corpus_id}/items/{item_id}/image", "/v1/corpora/{corpus_id}/items/{item_id}/image")


@pages.post("/corpora/{corpus_id}/selected", "jobs:write")
async def change_selected(visit: Visit) -> Response:
    """Remove the ticked items of a page or, if `act` is not ``remove``, the items that the page shows unticked."""
    form = visit.form
    removed_ids = ticked_ids = form.getlist("item")
    if form.get("act") != "remove":
        removed_ids = [item_id for item_id in form.get("shown", "").split() if item_id not in ticked_ids]
    if ticked_ids and removed_ids:  # a form without a tick removes nothing
        await visit.api.ask("PATCH", f"/v1/corpora/{visit.path('corpus_id')}/items", body={"remove": removed_ids})
    return visit.redirect(_return_page(visit))


@pages.get("/corpora/{corpus_id}/add")
async def add_items(visit: Visit) -> Response:
    """Show the forms that add sentences, a table of sentences, or pictures."""
    return visit.page("corpora/add.html", corpus=await corpus_of(visit), back=_return_page(visit))


@pages.post("/corpora/{corpus_id}/items", "jobs:write", form_page=add_items)
async def add_sentences(visit: Visit) -> Response:
    """Add the sentences that were typed, one a line."""
    texts = visit.typed
    lines = lines_of(texts.get("sentences", ""))
    terms = {name: texts[name].strip() for name in ("group_term", "attribute_term") if texts.get(name, "").strip()}
    return await _add_item(visit, "items", body={"items": [{"text": line, **terms} for line in lines]})


@pages.post("/corpora/{corpus_id}/import", "jobs:write", with_file=True, form_page=add_items)
async def import_sentences(visit: Visit) -> Response:
    """Add the sentences of a CSV file."""
    return await _add_item(visit, "import", file=_file_of(visit), headers={"content-type": "text/csv"})


@pages.post("/corpora/{corpus_id}/images", "jobs:write", with_file=True, form_page=add_items)
async def add_picture(visit: Visit) -> Response:
    """Add a picture file with the term that it shows."""
    query, headers = {"term": visit.typed.get("term", "").strip()}, {"content-type": "application/octet-stream"}
    return await _add_item(visit, "images", query=query, file=_file_of(visit), headers=headers)


def _file_of(visit: Visit) -> SentFile:
    if visit.form.file is None:
        raise Problem("invalid-request", "choose a file")
    return visit.form.file


async def _add_item(visit: Visit, path: str, **arguments: Any) -> Response:
    await visit.api.ask("POST", f"/v1/corpora/{visit.path('corpus_id')}/{path}", **arguments)
    return visit.redirect(_return_page(visit))


def _return_page(visit: Visit) -> str:
    """Return the page from which the form was opened, or the corpus's page if that address is on another site."""
    address = visit.typed.get("back", "") or visit.query("back")
    return address if is_own_page(address) else f"/corpora/{visit.path('corpus_id')}"


def _item_path(visit: Visit) -> str:
    return f"/v1/corpora/{visit.path('corpus_id')}/items/{visit.path('item_id')}"
