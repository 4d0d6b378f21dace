"""``/v1/corpora``: sentences and pictures that are kept, so that what was made once is made once."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request, Response

from service.corpora.files import corpus_csv, corpus_jsonl
from service.corpora.schemas import (
    CorpusChange,
    CorpusLine,
    CorpusList,
    CorpusQuery,
    CorpusRequest,
    CorpusView,
    ExportQuery,
    ItemChange,
    ItemList,
    ItemsRequest,
    ItemView,
    KeptItemsView,
    PictureForm,
)
from service.corpora.validation import (
    checked_sentences,
    edit_item,
    keep_pictures,
    new_corpus,
    read_picture,
    read_pictures,
)
from service.corpora.writing_jobs import writing_order
from service.corpora.writing_schemas import WritingRequest
from service.dependencies import Here, Service, Wait
from service.http.authentication import Reader, Writer
from service.http.conditional import IfMatch, entity_tag, must_match, not_modified
from service.http.idempotency import Repeat, once
from service.http.json import Answer, StrictRoute, json_response, located, write_json
from service.http.openapi.examples import CORPORA, CORPUS_CHANGES, ITEM_CHANGES, ITEMS, WRITING
from service.http.pagination import Page, PageQuery, link_next, open_cursor
from service.http.problems import Problem, not_found
from service.jobs.routes import answer_order
from service.jobs.schemas import JobView
from store.corpora import corpora, images
from store.corpora import items as corpus_items
from store.corpora.corpora import StoredCorpus
from store.corpora.items import AddedItems
from store.formats.image import MEDIA_TYPES, MOST_BYTES

router = APIRouter(prefix="/v1/corpora", tags=["corpora"], route_class=StrictRoute)

_PICTURE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"The file itself, of at most {MOST_BYTES // 10**6} MB.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}} for kind in dict.fromkeys(MEDIA_TYPES.values())
        },
    }
}


# ---------------------------------------------------------------------------- corpora
@router.post("", status_code=201, response_model=CorpusView, operation_id="createCorpus", response_description="Begun.")
async def create_corpus(
    body: Annotated[CorpusRequest, Body(openapi_examples=CORPORA)], here: Here, caller: Writer, repeat: Repeat
) -> Response:
    """Begin a corpus. Where it names a specification, every sentence has to keep to that."""
    with located():
        new = await new_corpus(here, caller.tenant, body)

    def add(c: Any) -> Answer:
        kept = corpora.add(c, new)
        headers = {"Location": f"{router.prefix}/{kept.id}", "ETag": entity_tag(kept.id, kept.version)}
        return Answer(201, write_json(CorpusView.of(kept, 0, caller.tenant)), headers)

    answer = await here.database.write(once, repeat.by(caller), add)
    return answer.response()


@router.get("", response_model=CorpusList, operation_id="listCorpora")
async def list_corpora(
    request: Request, response: Response, here: Here, caller: Reader, query: Annotated[CorpusQuery, Query()]
) -> Response:
    """List your corpora and those that others share, newest first."""
    wanted, before = query.filters(), query.before("corpora")

    def look(c: Any) -> tuple[Page[StoredCorpus], dict[str, int]]:
        rows = corpora.page(c, caller.tenant, **wanted, before=before, limit=query.limit + 1)
        page = Page.of(rows, query.limit, lambda row: (row.created_at, row.id))
        return page, corpora.sizes(c, [row.id for row in page.rows])

    page, sizes = await here.database.read(look)
    items = [CorpusLine.of(row, sizes[row.id], caller.tenant) for row in page.rows]
    cursor = link_next(request, response, query, "corpora", page.next_key)
    return json_response(CorpusList(items=items, next_cursor=cursor), headers=response.headers)


async def found_corpus(corpus_id: str, here: Here, caller: Reader) -> StoredCorpus:
    """Read the corpus that a path names: the caller's own, or one that is shared."""
    row = await here.database.read(corpora.find, corpus_id, caller.tenant)
    if row is None:
        raise not_found("corpus", corpus_id)
    return row


async def own_corpus(corpus_id: str, here: Here, caller: Writer) -> StoredCorpus:
    """Read the corpus that a path names, for who may change it; another's shared one is readable and no more."""
    row = await here.database.read(corpora.find, corpus_id, caller.tenant)
    if row is None or row.tenant != caller.tenant:
        raise not_found("corpus of yours", corpus_id)
    return row


FoundCorpus = Annotated[StoredCorpus, Depends(found_corpus)]
OwnCorpus = Annotated[StoredCorpus, Depends(own_corpus)]


@router.get("/{corpus_id}", response_model=CorpusView, operation_id="getCorpus")
async def get_corpus(request: Request, row: FoundCorpus, here: Here, caller: Reader) -> Response:
    """Read what a corpus is, with the words of its specification."""
    headers = {"ETag": entity_tag(row.id, row.version), "Cache-Control": "private, no-cache"}
    return not_modified(request, headers) or await _shown(here, row, caller.tenant, headers)


@router.patch("/{corpus_id}", response_model=CorpusView, operation_id="changeCorpus")
async def change_corpus(
    body: Annotated[CorpusChange, Body(openapi_examples=CORPUS_CHANGES)],
    row: OwnCorpus,
    here: Here,
    caller: Writer,
    if_match: IfMatch = None,
) -> Response:
    """Change what is told of a corpus, or share it with every tenant of this agency. What is left out stays."""
    must_match(if_match, entity_tag(row.id, row.version))
    version = None if if_match is None else row.version
    changed = await here.database.write(corpora.change, row.id, caller.tenant, body.told(), version)
    if changed is None:
        raise Problem("precondition-failed") if if_match is not None else not_found("corpus of yours", row.id)
    return await _shown(here, changed, caller.tenant, {"ETag": entity_tag(changed.id, changed.version)})


@router.delete("/{corpus_id}", status_code=204, operation_id="removeCorpus", response_description="Removed.")
async def remove_corpus(corpus_id: str, here: Here, caller: Writer) -> Response:
    """Remove a corpus of yours. Jobs and ratings have their own copy of the sentences."""
    if not await here.database.write(corpora.remove, corpus_id, caller.tenant):
        raise not_found("corpus of yours", corpus_id)
    return Response(status_code=204)


# ---------------------------------------------------------------------------- items
@router.get("/{corpus_id}/items", response_model=ItemList, operation_id="listCorpusItems")
async def list_items(
    request: Request, response: Response, row: FoundCorpus, here: Here, query: Annotated[PageQuery, Query()]
) -> Response:
    """Read the sentences or pictures of a corpus, in the order they came."""
    name = f"items of {row.id}"
    after = 0 if query.cursor is None else open_cursor(query.cursor, name, {})[0]
    rows = await here.database.read(corpus_items.page, row.id, after, query.limit + 1)
    page = Page.of(rows, query.limit, lambda item: (item.seq, ""))
    items = [ItemView.of(item) for item in page.rows]
    listed = ItemList(items=items, next_cursor=link_next(request, response, query, name, page.next_key))
    return json_response(listed, headers=response.headers)


@router.post(
    "/{corpus_id}/items",
    status_code=201,
    response_model=KeptItemsView,
    operation_id="addCorpusItems",
    response_description="Kept; some are new.",
)
async def add_items(
    body: Annotated[ItemsRequest, Body(openapi_examples=ITEMS)],
    row: OwnCorpus,
    here: Here,
    caller: Writer,
    repeat: Repeat,
) -> Response:
    """Put up to 1,000 sentences or pictures into a corpus of yours: all of them, or none where one is refused.

    The same sentence (whatever its capitals, blanks and quotation marks) and the same picture are kept once: the answer
    shows what is there, and is 200 where nothing is new.
    """
    if row.kind == "images":
        pictures = await read_pictures(body.items)
        return await _kept(here, repeat.by(caller), row, caller.tenant, keep_pictures, pictures)
    sentences = await asyncio.to_thread(checked_sentences, row, body.items)
    return await _kept(here, repeat.by(caller), row, caller.tenant, corpus_items.add, sentences)


@router.post(
    "/{corpus_id}/images",
    status_code=201,
    response_model=KeptItemsView,
    operation_id="addCorpusPicture",
    response_description="Kept.",
    openapi_extra=_PICTURE,
)
async def add_picture(
    request: Request, row: OwnCorpus, here: Here, caller: Writer, repeat: Repeat, form: Annotated[PictureForm, Query()]
) -> Response:
    """Put a picture into a corpus of yours, as a file. What it is, is read from the file and not from its name."""
    content = await request.body()
    with located():
        if row.kind != "images":
            raise _wrong_kind(row)
        picture = await read_picture(content, form.term, form.note)
    return await _kept(here, repeat.by(caller), row, caller.tenant, keep_pictures, [picture])


@router.patch("/{corpus_id}/items/{item_id}", response_model=ItemView, operation_id="changeCorpusItem")
async def change_item(
    item_id: str,
    body: Annotated[ItemChange, Body(openapi_examples=ITEM_CHANGES)],
    row: OwnCorpus,
    here: Here,
    caller: Writer,
) -> Response:
    """Edit a sentence, or say what a picture shows. The provenance stays, and `edited_from` tells what it was."""
    with located():
        changed = await here.database.write(edit_item, row.id, caller.tenant, item_id, body)
    if changed is None:
        raise not_found("item of this corpus", item_id)
    return json_response(ItemView.of(changed))


@router.delete(
    "/{corpus_id}/items/{item_id}", status_code=204, operation_id="removeCorpusItem", response_description="Removed."
)
async def remove_item(item_id: str, row: OwnCorpus, here: Here, caller: Writer) -> Response:
    """Take a sentence or a picture out of a corpus of yours."""
    if not await here.database.write(corpus_items.remove, row.id, caller.tenant, item_id):
        raise not_found("item of this corpus", item_id)
    return Response(status_code=204)


@router.get("/{corpus_id}/items/{item_id}/image", response_class=Response, operation_id="getCorpusPicture")
async def get_picture(request: Request, item_id: str, row: FoundCorpus, here: Here) -> Response:
    """Read the file of a picture."""
    item = await here.database.read(corpus_items.find, row.id, item_id)
    image = None
    if item is not None and item.image is not None:
        image = await here.database.read(images.find, item.image, row.tenant)
    if image is None:
        raise not_found("picture of this corpus", item_id)
    headers = {
        "ETag": f'"{image.digest}"',
        "Cache-Control": "private, max-age=86400",  # the same address may lead nowhere later, but to nothing else
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return not_modified(request, headers) or Response(image.content, headers=headers, media_type=image.media_type)


@router.post(
    "/{corpus_id}/writing",
    status_code=202,
    response_model=JobView,
    operation_id="writeSentences",
    response_description="The job was accepted; 200 instead if it ended while it was waited for.",
)
async def write_sentences(
    request: Request,
    body: Annotated[WritingRequest, Body(openapi_examples=WRITING)],
    row: OwnCorpus,
    here: Here,
    caller: Writer,
    repeat: Repeat,
    wait: Wait,
    response: Response,
) -> Response:
    """Have a language model of your choice write the sentences that a corpus of yours lacks.

    What is kept is looked at first: a term that has its sentences is not asked for. Each text is checked as any other
    sentence is; what is of no use is counted by its reason, asked for again a few times, and never kept. The job's
    `result` counts what was written, refused and there already.
    """
    order = await writing_order(here, caller, row, body)
    answer = await answer_order(request, here, caller, order, repeat.by(caller), wait, response)
    if wait and b'"status":"succeeded"' in answer.body:
        answer.status_code = 200
    return answer


@router.get("/{corpus_id}/export", response_class=Response, operation_id="exportCorpus")
async def export_corpus(row: FoundCorpus, here: Here, query: Annotated[ExportQuery, Query()]) -> Response:
    """Download a corpus: as a table, whose cells a spreadsheet would run begin with `'`, or as JSON lines with all."""
    return corpus_csv(here.database, row) if query.format == "csv" else corpus_jsonl(here.database, row)


async def _kept(here: Service, repeat: Any, row: StoredCorpus, tenant: str, keep: Any, new: Any) -> Response:
    """Keep items, once for an Idempotency-Key, and tell what became of them."""

    def work(c: Any) -> Answer:
        kept: AddedItems | None = keep(c, row.id, tenant, new)
        if kept is None:
            raise not_found("corpus of yours", row.id)
        added = len(kept.added)
        items = [ItemView.of(item) for item in kept.items]
        view = KeptItemsView(added=added, known=len(new) - added, version=kept.corpus.version, items=items)
        headers = {"ETag": entity_tag(kept.corpus.id, kept.corpus.version)}
        return Answer(201 if added else 200, write_json(view), headers)

    answer = await here.database.write(once, repeat, work)
    return answer.response()


async def _shown(here: Service, row: StoredCorpus, tenant: str, headers: dict[str, str]) -> Response:
    sizes = await here.database.read(corpora.sizes, [row.id])
    return json_response(CorpusView.of(row, sizes[row.id], tenant), headers=headers)


def _wrong_kind(row: StoredCorpus) -> Problem:
    detail = f"{row.id} holds {row.kind}; begin a corpus of kind images for pictures"
    return Problem("bad-specification", detail, errors=[{"parameter": "corpus_id", "detail": detail}])
