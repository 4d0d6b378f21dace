"""``/v1/corpora/{id}``: coverage of terms, changes of several items at once, and the import of a table."""

from __future__ import annotations

import asyncio
import io
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from assay.errors import SpecificationError
from service.corpora.revision_schemas import ChangedItemsView, CoverageView, ItemsChange
from service.corpora.routes import FoundCorpus, OwnCorpus, keep_items
from service.corpora.schemas import ItemView, KeptItemsView, SentenceItem
from service.corpora.tables import sentences_of_csv
from service.corpora.validation import checked_sentences, edit_item
from service.dependencies import ServiceDependency
from service.http.authentication import Writer
from service.http.conditional import entity_tag
from service.http.idempotency import Repeat
from service.http.json import StrictRoute, json_response, located
from service.http.openapi.examples import ITEMS_CHANGES
from service.http.problems import Problem, existing
from store.core.database import Connection
from store.corpora import corpora
from store.corpora import items as corpus_items

router = APIRouter(prefix="/v1/corpora", tags=["corpora"], route_class=StrictRoute)

CSV = "text/csv"

_TABLE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "CSV (UTF-8, commas, a header) with a column `text`; `group_term`, `attribute_term` and `note` "
        "are read too, other columns are not. The download of a corpus is such a table.",
        "content": {CSV: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/{corpus_id}/coverage", response_model=CoverageView)
async def get_corpus_coverage(row: FoundCorpus, service: ServiceDependency) -> Response:
    """Count the items of a corpus by term and by source. Terms of its specification without items count 0."""
    counted = await service.database.read(corpus_items.counts, row.id)
    return json_response(CoverageView.of(counted, None if row.rules is None else row.rules.words))


@router.patch("/{corpus_id}/items", response_model=ChangedItemsView)
async def change_corpus_items(
    body: Annotated[ItemsChange, Body(openapi_examples=ITEMS_CHANGES)],
    row: OwnCorpus,
    service: ServiceDependency,
    caller: Writer,
) -> Response:
    """Edit and remove several items: all of the changes are made, or none if one is refused."""

    def work(c: Connection) -> ChangedItemsView:
        removed = corpus_items.remove_several(c, row.id, caller.tenant, body.remove) if body.remove else 0
        edited = []
        for index, edit in enumerate(body.edit):
            with located("edit", index):
                changed = edit_item(c, row.id, caller.tenant, edit.id, edit, edit.etag)
            edited.append(ItemView.of(existing(changed, "item of this corpus", edit.id)))
        now = existing(corpora.find(c, row.id, caller.tenant), "corpus of yours", row.id)
        return ChangedItemsView(removed=removed, version=now.version, items=edited)

    view = await service.database.write(work)
    return json_response(view, headers={"ETag": entity_tag(row.id, view.version)})


@router.post(
    "/{corpus_id}/import",
    status_code=201,
    response_model=KeptItemsView,
    response_description="Stored; some are new.",
    openapi_extra=_TABLE,
)
async def import_corpus_items(
    request: Request, row: OwnCorpus, service: ServiceDependency, caller: Writer, repeat: Repeat
) -> Response:
    """Add the sentences of a table to your corpus: all of them, or none if one is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != CSV:
        raise Problem("unsupported-upload-type", f"send the table as {CSV}", headers={"Accept": CSV})
    content = await request.body()
    with located():
        if row.kind != "sentences":
            raise SpecificationError(f"{row.id} holds {row.kind}; send pictures to …/images, one by one")
        sent: list[SentenceItem] = await asyncio.to_thread(sentences_of_csv, io.BytesIO(content))
    sentences = await asyncio.to_thread(checked_sentences, row, sent)
    return await keep_items(service, repeat.by(caller), row, caller.tenant, corpus_items.add, sentences)
