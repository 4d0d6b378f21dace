"""``/v1/corpora``: stored sentences and pictures, for use in several jobs."""

import asyncio
import io
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from assay.document import JsonObject
from assay.errors import SpecificationError
from service.container import Service, ServiceDependency
from service.corpora import service as validation
from service.corpora.files import corpus_csv, corpus_jsonl, sentences_of_csv
from service.corpora.schemas import (
    ChangedItemsView,
    CorpusChange,
    CorpusLine,
    CorpusQuery,
    CorpusRequest,
    CorpusView,
    CoverageView,
    ExportQuery,
    ItemChange,
    ItemQuery,
    ItemsChange,
    ItemsRequest,
    ItemView,
    KeptItemsView,
    PictureForm,
    SentenceItem,
    WritingRequest,
)
from service.corpora.writing import writing_order
from service.http.authentication import Reader, Writer
from service.http.conditional import IfMatch, entity_tag, must_match
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, json_response, located, tagged, write_json
from service.http.openapi.responses import ETAG, TAGGED, created, fails, file_body, leads_to, returns
from service.http.problems import Problem, existing, not_found, removed
from service.http.rows import Lists, Page, in_path, lists_of
from service.jobs.routes import JOB_PLACED, Placing
from store.core.database import Connection
from store.corpora import corpora, images
from store.corpora import items as corpus_items
from store.corpora.corpora import StoredCorpus
from store.corpora.items import AddedItems
from store.formats.image import MEDIA_TYPES, MOST_BYTES

router = APIRouter(prefix="/v1/corpora", tags=["corpora"], route_class=StrictRoute)

PICTURE_TYPES = dict.fromkeys(MEDIA_TYPES.values())

_PICTURE = file_body(f"The file itself, of at most {MOST_BYTES // 10**6} MB.", *PICTURE_TYPES)

CORPUS_LINKS = leads_to("corpus_id", "getCorpus", "changeCorpus", "removeCorpus", "writeSentences", "exportCorpus")
CORPUS_LINKS |= leads_to("corpus_id", "addCorpusItems", "listCorpusItems")

CSV = "text/csv"

_TABLE = file_body(
    "CSV (UTF-8, commas, a header) with a column `text`; `group_term`, `attribute_term` and `note` are read too, other "
    "columns are not. The download of a corpus is such a table.",
    CSV,
)


def adds_items(description: str, *statuses: int) -> JsonObject:
    """Return FastAPI's arguments for a route that adds items to a corpus; it can also fail with `statuses`."""
    route = created(KeptItemsView, description, may_exist=True)
    return {**route, "responses": route["responses"] | returns(ETAG, status=201) | fails(*statuses)}


@router.post("", **created(CorpusView, "Created.", CORPUS_LINKS))
async def create_corpus(body: CorpusRequest, service: ServiceDependency, caller: Writer, repeat: Repeat) -> Response:
    """Create a corpus. If it names a specification, every sentence must follow its rules."""
    corpus = await validation.new_corpus(service, caller.tenant, body)
    per_term = body.from_frames  # number of sentences to make for each term from frames (texts with gaps)
    frame_items = await asyncio.to_thread(validation.framed_items, corpus, per_term) if per_term else []

    def add(c: Connection) -> Answer:
        row = corpora.add(c, corpus)
        if body.items_of:
            validation.copy_items(c, body.items_of, row)
        # a term with copied sentences gets none from frames
        copied_terms = {item.attribute_term for item in corpus_items.all_items(c, row.id)} if body.items_of else set()
        if new_items := [item for item in frame_items if item.attribute_term not in copied_terms]:
            corpus_items.add(c, row.id, caller.tenant, new_items)
        row = corpora.find(c, row.id, caller.tenant) or row  # read again: new items change the version of a corpus
        size = corpora.sizes(c, [row.id])[row.id]
        headers = {"Location": f"{router.prefix}/{row.id}", "ETag": entity_tag(row.id, row.version)}
        return Answer(201, write_json(CorpusView.of(row, size, caller.tenant)), headers)

    return await answer_once(service, repeat, add)


@router.get("", **lists_of(CorpusLine, "One page of corpora, newest first."))
async def list_corpora(
    lists: Lists, service: ServiceDependency, caller: Reader, query: Annotated[CorpusQuery, Query()]
) -> Response:
    """List your corpora and those that others share, newest first."""
    page = await lists.read(query, "corpora", corpora.page, caller.tenant)
    sizes = await service.database.read(corpora.sizes, [row.id for row in page.rows])
    items = [CorpusLine.of(row, sizes[row.id], caller.tenant) for row in page.rows]
    return lists.response(query, "corpora", page, items)


def _find_own_corpus(c: Connection, corpus_id: str, tenant: str) -> StoredCorpus | None:
    row = corpora.find(c, corpus_id, tenant)
    return None if row is None or row.tenant != tenant else row


FoundCorpus = Annotated[StoredCorpus, in_path("corpus", corpora.find, Reader)]
"""The caller's own corpus, or a shared one."""

OwnCorpus = Annotated[StoredCorpus, in_path("corpus of yours", _find_own_corpus, Writer, "corpus_id")]


@router.get("/{corpus_id}", response_model=CorpusView, responses=TAGGED)
async def get_corpus(row: FoundCorpus, service: ServiceDependency, caller: Reader) -> Response:
    """Read a corpus, with the words of its specification."""
    return await _corpus_response(service, row, caller.tenant)


@router.patch("/{corpus_id}", response_model=CorpusView, responses=TAGGED | fails(409, 412))
async def change_corpus(
    body: CorpusChange, row: OwnCorpus, service: ServiceDependency, caller: Writer, if_match: IfMatch = None
) -> Response:
    """Change the description of a corpus, or share it with every tenant of this agency. Omitted fields stay."""
    must_match(if_match, entity_tag(row.id, row.version))
    version = None if if_match is None else row.version  # if it has changed since it was read, nothing is written
    corpus = await service.database.write(corpora.change, row.id, caller.tenant, body.changes(), version)
    if corpus is None:
        raise Problem("precondition-failed") if if_match is not None else not_found("corpus of yours", row.id)
    return await _corpus_response(service, corpus, caller.tenant)


@router.delete("/{corpus_id}", status_code=204, response_description="Removed.")
async def remove_corpus(corpus_id: str, service: ServiceDependency, caller: Writer) -> Response:
    """Remove your corpus. Jobs and ratings have their own copy of its sentences."""
    return removed(await service.database.write(corpora.remove, corpus_id, caller.tenant), "corpus of yours", corpus_id)


@router.get("/{corpus_id}/items", **lists_of(ItemView, "One page of a corpus's items, in the order of their addition."))
async def list_corpus_items(
    lists: Lists, row: FoundCorpus, service: ServiceDependency, query: Annotated[ItemQuery, Query()]
) -> Response:
    """List the sentences or pictures of a corpus, in the order of their addition."""
    list_name = f"items of {row.id}"
    after, _ = query.cursor_key(list_name, end=2**31) or (0, "")  # the key of an item is (its number, "")
    rows = await service.database.read(corpus_items.page, row.id, after, query.limit + 1, **query.filters())
    page = Page.of(rows, query.limit, key=lambda item: (item.seq, ""))
    return lists.response(query, list_name, page, [ItemView.of(item) for item in page.rows])


@router.post("/{corpus_id}/items", **adds_items("Stored; some are new."))
async def add_corpus_items(
    repeat: Repeat, body: ItemsRequest, row: OwnCorpus, service: ServiceDependency, caller: Writer
) -> Response:
    """Add up to 1,000 sentences or pictures to your corpus: all of them, or none if one is refused.

    Equal sentences (apart from capitals, blanks and quotation marks) and equal pictures are stored once. The answer
    shows the stored items; it is 200 if none is new.
    """
    if row.kind == "images":
        pictures = await validation.read_pictures(body.items)
        return await keep_items(service, repeat, row, caller.tenant, validation.store_pictures, pictures)
    sentences = await asyncio.to_thread(validation.checked_sentences, row, body.items)
    return await keep_items(service, repeat, row, caller.tenant, corpus_items.add, sentences)


@router.post("/{corpus_id}/images", **adds_items("Stored.", 400, 413, 415), openapi_extra=_PICTURE)
async def add_corpus_picture(
    repeat: Repeat,
    request: Request,
    row: OwnCorpus,
    service: ServiceDependency,
    caller: Writer,
    fields: Annotated[PictureForm, Query()],
) -> Response:
    """Add a picture file to your corpus. Its format is detected from its content, not from its name."""
    content = await request.body()
    with located():
        if row.kind != "images":
            detail = f"{row.id} holds {row.kind}; create a corpus of kind images for pictures"
            raise Problem("bad-specification", detail, errors=[{"parameter": "corpus_id", "detail": detail}])
        picture = await validation.read_picture(content, fields.term, fields.note)
    return await keep_items(service, repeat, row, caller.tenant, validation.store_pictures, [picture])


@router.patch("/{corpus_id}/items/{item_id}", response_model=ItemView, responses=TAGGED | fails(409, 412))
async def change_corpus_item(
    item_id: str, body: ItemChange, row: OwnCorpus, service: ServiceDependency, caller: Writer, if_match: IfMatch = None
) -> Response:
    """Edit a sentence, or the term of a picture. The provenance stays; `edited_from` holds the earlier text."""
    item = await service.database.write(validation.edit_item, row.id, caller.tenant, item_id, body, if_match)
    view = ItemView.of(existing(item, "item of this corpus", item_id))
    return tagged(view, view.etag)


@router.get("/{corpus_id}/items/{item_id}", response_model=ItemView, responses=TAGGED)
async def get_corpus_item(item_id: str, row: FoundCorpus, service: ServiceDependency) -> Response:
    """Read a sentence, or the description of a picture."""
    item = await service.database.read(corpus_items.find, row.id, item_id)
    view = ItemView.of(existing(item, "item of this corpus", item_id))
    return tagged(view, view.etag)


@router.delete("/{corpus_id}/items/{item_id}", status_code=204, response_description="Removed.")
async def remove_corpus_item(item_id: str, row: OwnCorpus, service: ServiceDependency, caller: Writer) -> Response:
    """Remove a sentence or a picture from your corpus."""
    removed_count = await service.database.write(corpus_items.remove, row.id, caller.tenant, [item_id])
    return removed(removed_count > 0, "item of this corpus", item_id)


@router.get(
    "/{corpus_id}/items/{item_id}/image", response_class=Response, responses=returns(ETAG, *sorted(PICTURE_TYPES))
)
async def get_corpus_picture(item_id: str, row: FoundCorpus, service: ServiceDependency) -> Response:
    """Download the file of a picture."""
    item = await service.database.read(corpus_items.find, row.id, item_id)
    image = None
    if item is not None and item.image is not None:
        image = await service.database.read(images.find, item.image, row.tenant)  # the owner may see it
    image = existing(image, "picture of this corpus", item_id)
    headers = {
        "ETag": f'"{image.digest}"',
        # the image of an item never changes; it can only be removed
        "Cache-Control": "private, max-age=86400",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return Response(image.content, headers=headers, media_type=image.media_type)


@router.post("/{corpus_id}/writing", **JOB_PLACED)
async def write_sentences(
    placing: Placing, body: WritingRequest, row: OwnCorpus, service: ServiceDependency, caller: Writer
) -> Response:
    """Have a language model of your choice write the missing sentences of your corpus.

    Sentences are written only for terms that have too few. Each text is checked like any other sentence; an invalid
    text is counted by its reason, requested again a few times, and never stored. The job's `result` counts the written,
    the refused and the existing sentences.
    """
    return await placing.answer(await writing_order(service, caller, row, body))


@router.get("/{corpus_id}/export", response_class=Response, responses=returns({}, "text/csv", "application/jsonl"))
async def export_corpus(
    row: FoundCorpus, service: ServiceDependency, query: Annotated[ExportQuery, Query()]
) -> Response:
    """Download a corpus as CSV (a `'` precedes cells that a spreadsheet would run) or as JSON lines with all fields."""
    return corpus_csv(service.database, row) if query.format == "csv" else corpus_jsonl(service.database, row)


async def keep_items(service: Service, repeat: Any, row: StoredCorpus, tenant: str, add: Any, items: Any) -> Response:
    """Add `items` to a corpus by ``add(c, corpus_id, tenant, items)``, once per Idempotency-Key; return the answer."""

    def add_items(c: Connection) -> Answer:
        addition: AddedItems | None = add(c, row.id, tenant, items)
        if addition is None:
            raise not_found("corpus of yours", row.id)
        new_count, version = len(addition.added), addition.corpus.version
        views = [ItemView.of(item) for item in addition.items]
        view = KeptItemsView(added=new_count, known=len(items) - new_count, version=version, items=views)
        return Answer(201 if new_count else 200, write_json(view), {"ETag": entity_tag(addition.corpus.id, version)})

    return await answer_once(service, repeat, add_items)


async def _corpus_response(service: Service, row: StoredCorpus, tenant: str) -> Response:
    sizes = await service.database.read(corpora.sizes, [row.id])
    return tagged(CorpusView.of(row, sizes[row.id], tenant), entity_tag(row.id, row.version))


@router.get("/{corpus_id}/coverage", response_model=CoverageView)
async def get_corpus_coverage(row: FoundCorpus, service: ServiceDependency) -> Response:
    """Count the items of a corpus by term and by source. Terms of its specification without items count 0."""
    counts = await service.database.read(corpus_items.counts, row.id)
    return json_response(CoverageView.of(counts, None if row.rules is None else row.rules.words))


@router.patch("/{corpus_id}/items", response_model=ChangedItemsView, responses=TAGGED | fails(409, 412))
async def change_corpus_items(
    body: ItemsChange, row: OwnCorpus, service: ServiceDependency, caller: Writer
) -> Response:
    """Edit and remove several items: all of the changes are made, or none if one is refused."""

    def change_items(c: Connection) -> ChangedItemsView:
        removed_count = corpus_items.remove(c, row.id, caller.tenant, body.remove) if body.remove else 0
        views = []
        for index, edit in enumerate(body.edit):
            with located("edit", index):
                item = validation.edit_item(c, row.id, caller.tenant, edit.id, edit, edit.etag)
                if item is None:
                    raise SpecificationError(f"this corpus holds no item {edit.id}; nothing was changed")
            views.append(ItemView.of(item))
        corpus = existing(corpora.find(c, row.id, caller.tenant), "corpus of yours", row.id)
        return ChangedItemsView(removed=removed_count, version=corpus.version, items=views)

    view = await service.database.write(change_items)
    return tagged(view, entity_tag(row.id, view.version))


@router.post("/{corpus_id}/import", **adds_items("Stored; some are new.", 413, 415), openapi_extra=_TABLE)
async def import_corpus_items(
    repeat: Repeat, request: Request, row: OwnCorpus, service: ServiceDependency, caller: Writer
) -> Response:
    """Add the sentences of a table to your corpus: all of them, or none if one is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != CSV:
        raise Problem("unsupported-upload-type", f"send the table as {CSV}", headers={"Accept": CSV})
    content = await request.body()
    with located():
        if row.kind != "sentences":
            raise SpecificationError(f"{row.id} holds {row.kind}; send pictures to …/images, one by one")
        items: list[SentenceItem] = await asyncio.to_thread(sentences_of_csv, io.BytesIO(content))
    sentences = await asyncio.to_thread(validation.checked_sentences, row, items)
    return await keep_items(service, repeat, row, caller.tenant, corpus_items.add, sentences)
