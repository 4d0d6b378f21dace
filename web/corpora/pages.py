"""``/corpora`` and ``/corpora/{id}``: the list, one corpus, and actions on a whole corpus."""

from starlette.responses import Response

from web.corpora.review import corpus_of, review_of
from web.frame import Pages, Visit

pages = Pages()


@pages.get("/corpora")
async def corpora(visit: Visit) -> Response:
    """List the corpora that the caller may read, with a form for a new one."""
    listing = await visit.listing("/v1/corpora", ("kind", "visibility"))
    specifications = await visit.api.items("/v1/specifications", kind="stereotype", limit=200)
    return visit.page("corpora/list.html", **listing, specifications=specifications)


@pages.post("/corpora", "jobs:write", form_page=corpora)
async def create_corpus(visit: Visit) -> Response:
    """Create an empty corpus, or a corpus with the sentences of another (`items_of`)."""
    names = ("name", "kind", "specification", "attribute", "language", "licence", "items_of")
    body = {name: text for name in names if (text := visit.typed.get(name, "").strip())}
    return visit.redirect(f"/corpora/{(await visit.api.post('/v1/corpora', body))['id']}")


@pages.get("/corpora/{corpus_id}")
async def corpus(visit: Visit) -> Response:
    """Show a corpus: its items, its coverage, and the possible actions."""
    document = await corpus_of(visit)
    review = await review_of(visit, document, document["words"])
    return visit.page("corpora/corpus.html", **review, typed={**document, **visit.typed})


CORPUS = "/corpora/{corpus_id}"
DESCRIPTION = ("name", "licence", "citation", "description", "visibility")
pages.act(CORPUS, "jobs:write", "PATCH", f"/v1{CORPUS}", CORPUS, fields=DESCRIPTION, form_page=corpus)


@pages.post("/corpora/{corpus_id}/remove", "jobs:write")
async def remove_corpus(visit: Visit) -> Response:
    """Remove a corpus. Others may use a shared corpus, so the user must type its name."""
    document = await corpus_of(visit)
    if document["visibility"] == "shared" and visit.typed.get("name", "").strip() != document["name"]:
        review = await review_of(visit, document, document["words"])
        return visit.page("corpora/corpus.html", 422, **review, typed=document, misnamed=True)
    await visit.api.ask("DELETE", f"/v1/corpora/{document['id']}")
    return visit.redirect("/corpora")


@pages.get("/corpora/{corpus_id}/export")
async def export_corpus(visit: Visit) -> Response:
    """Download a corpus as CSV or JSON lines."""
    return visit.api.forward(f"/v1/corpora/{visit.path('corpus_id')}/export", format=visit.query("format", "csv"))
