"""Schemas of corpora: stored sentences and pictures with their provenance, and requests for written sentences."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from assay.canonical import digest_of
from assay.catalog.stereotypes import LISTS, StereotypeWords
from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.methods.shared.terms.sentence_generation import Family
from service.http.conditional import entity_tag
from service.http.openapi.common_schemas import (
    MAX_SEED,
    Instant,
    QueryModel,
    RequestModel,
    ResponseModel,
    check_name,
)
from service.http.rows import PageQuery
from service.jobs.schemas import MAX_CALLS, AnyTarget
from service.specifications.schemas import check_language
from store.corpora.corpora import StoredCorpus
from store.corpora.items import StoredItem

CorpusKind = Literal["sentences", "images"]
CorpusVisibility = Literal["private", "shared"]
ItemSource = Literal["written", "uploaded", "template", "edited"]
MAX_TOGETHER = 1000
"""Maximum number of items in one request."""

Title = Annotated[str, Field(min_length=1, max_length=200, examples=["Ward talk"])]
Prose = Annotated[str, Field(max_length=4000)]
Term = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_name)]
Sentence = Annotated[str, Field(min_length=1, max_length=1000, examples=["The nurse said that she was late."])]
Reference = Annotated[
    str, Field(min_length=1, max_length=120, description="Name of a specification, or `name@version`.")
]
Language = Annotated[str, Field(min_length=2, max_length=35, examples=["en"]), AfterValidator(check_language)]


# ---------------------------------------------------------------------------- requests
class CorpusRequest(RequestModel):
    """Request to create a corpus, which is empty at first."""

    name: Title
    """Title for people."""
    kind: CorpusKind = "sentences"
    specification: Reference | None = None
    """Specification (of kind `stereotype`) whose rules every sentence must follow: its name, or `name@version`. The
    corpus has its own copy of the words."""
    attribute: Annotated[str, Field(min_length=1, max_length=100, examples=["gender"])] | None = None
    """Attribute in which the groups differ; by default the attribute of the specification."""
    language: Language | None = None
    """Language of the sentences (BCP 47); null means the language of the specification, or English."""
    licence: Annotated[str, Field(max_length=200, examples=["CC-BY-4.0"])] = ""
    """Licence under which others may use the corpus."""
    citation: Annotated[str, Field(max_length=2000)] = ""
    """How to cite the corpus."""
    description: Prose = ""
    """Description for people."""
    visibility: CorpusVisibility = "private"
    """Readers of the corpus: only you, or every tenant of this agency. Only you can change it."""
    items_of: Annotated[str, Field(max_length=64, examples=["crp_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])] | None = None
    """A corpus that you may read, whose sentences are copied with their provenance. Those that break the rules of the
    new corpus are left out."""
    from_frames: Annotated[int, Field(ge=0, le=100, examples=[10])] = 0
    """Number of sentences of each term to make at once from the specification's frames or, in English, from frames that
    fit any word. Terms get fewer if there are not enough frames and group words, and none if they have copied
    sentences; at most 1,000 sentences are made."""


class CorpusChange(RequestModel):
    """Change of a corpus; omitted fields stay as they are."""

    name: Title | None = None
    licence: Annotated[str, Field(max_length=200)] | None = None
    citation: Annotated[str, Field(max_length=2000)] | None = None
    description: Prose | None = None
    visibility: CorpusVisibility | None = None
    """`shared` lets every tenant of this agency read the corpus; `private` ends this. Ratings that used it stay."""

    def changes(self) -> dict[str, str]:
        """Return the fields of the corpus that the request changes, with their new values."""
        return self.model_dump(exclude_none=True)


class SentenceItem(RequestModel):
    """A sentence to add."""

    text: Sentence
    """The sentence."""
    group_term: Term | None = None
    """The word in the sentence that names a group; found automatically if the corpus has a specification."""
    attribute_term: Term | None = None
    """The word that the stereotype is about; found automatically if the corpus has a specification."""
    source: Literal["uploaded", "template"] = "uploaded"
    """`uploaded` if a person wrote it, `template` if it was generated from a template."""
    note: Annotated[str, Field(max_length=500)] | None = None
    """Source of the item; stored as part of its provenance."""


class PictureItem(RequestModel):
    """A picture to add."""

    image_b64: Annotated[str, Field(min_length=1, max_length=14_000_000)]
    """A PNG, JPEG, WebP or GIF file in base64. Send a file that is too large for a request to `…/images`."""
    term: Term
    """Term for the thing that the picture shows."""
    note: Annotated[str, Field(max_length=500)] | None = None
    """Source of the item; stored as part of its provenance."""


def _item_tag(value: object) -> str:
    return "picture" if isinstance(value, PictureItem) or (isinstance(value, dict) and "image_b64" in value) else "text"


AnyItem = Annotated[
    Annotated[SentenceItem, Tag("text")] | Annotated[PictureItem, Tag("picture")], Discriminator(_item_tag)
]


class ItemsRequest(RequestModel):
    """Sentences or pictures to add. Items that the corpus has already are not stored twice."""

    items: Annotated[list[AnyItem], Field(min_length=1, max_length=MAX_TOGETHER)]


class ItemChange(RequestModel):
    """Edit of a sentence, or of the term of a picture; omitted fields stay as they are."""

    text: Sentence | None = None
    """The new sentence. Its provenance stays and holds the earlier text."""
    group_term: Term | None = None
    attribute_term: Term | None = None
    term: Term | None = None
    """Term for the thing that the picture shows."""

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        if not self.model_dump(exclude_none=True, exclude={"id", "etag"}):  # these two of `ItemEdit` change nothing
            raise SpecificationError("the request changes nothing; send the new text or a term")
        return self


class CorpusQuery(PageQuery):
    """Filters of the list of corpora."""

    kind: Annotated[CorpusKind | None, Field(description="Kind of their items.")] = None
    attribute: Annotated[str | None, Field(max_length=100, description="Attribute in which their groups differ.")] = (
        None
    )
    visibility: Annotated[
        CorpusVisibility | None, Field(description="`private`: only your own; `shared`: yours and everyone's.")
    ] = None
    specification: Annotated[
        str | None,
        Field(max_length=120, description="Specification of their sentences: a name, `name@version`, or a digest."),
    ] = None


class ItemQuery(PageQuery):
    """Filters of the list of items."""

    q: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="Part of the sentence, or of a picture's term, case ignored."),
    ] = None
    term: Annotated[str | None, Field(max_length=100, description="One of the terms of the item.")] = None
    source: Annotated[ItemSource | None, Field(description="Origin of the item.")] = None


class ExportQuery(QueryModel):
    """Format of the download."""

    format: Annotated[Literal["csv", "jsonl"], Field(description="A table, or one JSON object per line.")] = "csv"


class PictureForm(QueryModel):
    """Query parameters of the upload of a picture."""

    term: Annotated[
        str,
        Field(min_length=1, max_length=100, description="Term for the thing that it shows.", examples=["nurse"]),
        AfterValidator(check_name),
    ]
    note: Annotated[str | None, Field(max_length=500, description="Its source.")] = None


# ---------------------------------------------------------------------------- responses
class CorpusLine(ResponseModel):
    """Summary of a corpus, as a list of corpora shows it."""

    id: str
    name: str
    kind: CorpusKind
    language: str
    attribute: str
    specification: Annotated[str | None, Field(examples=["ward-work@1"])]
    """Specification of the sentences, by the name that the owner of the corpus gave it."""
    specification_digest: str | None
    """Digest of the specification; equal digests mean equal specifications, even under different names."""
    licence: str
    citation: str
    description: str
    visibility: CorpusVisibility
    own: bool
    """Whether the corpus is yours, so that you can change it."""
    items: int
    """Number of sentences or pictures in the corpus."""
    version: int
    """Grows with every change of the corpus or its items. Ratings name the version that they used."""
    created_at: Instant
    updated_at: Instant
    links: dict[str, str]

    @classmethod
    def of(cls, row: StoredCorpus, items: int, tenant: str, **fields: object) -> Self:
        """Build the view of a stored corpus that has `items` items, as `tenant` may see it."""
        path, is_own = f"/v1/corpora/{row.id}", row.tenant == tenant
        links = {"self": path, "items": f"{path}/items", "export": f"{path}/export"}
        if is_own and row.kind == "sentences":
            links["writing"] = f"{path}/writing"
        digest = None if row.rules is None else row.rules.digest
        fields |= {"specification": rules_name(row), "specification_digest": digest}
        return cls.from_row(row, own=is_own, items=items, links=links, **fields)


class CorpusView(CorpusLine):
    """A corpus, with the words of its specification."""

    words: JsonObject | None
    """Words of the specification; every reader of the corpus may use them."""

    @classmethod
    def of(cls, row: StoredCorpus, items: int, tenant: str, **fields: object) -> Self:
        """Build the view of a corpus that has `items` items, with its specification's words, as `tenant` may see it."""
        return super().of(row, items, tenant, words=None if row.rules is None else dict(row.rules.words), **fields)


class ItemView(ResponseModel):
    """A sentence or a picture of a corpus."""

    id: str
    seq: int
    """Number of the item in its corpus."""
    text: str | None
    """The sentence; null for a picture."""
    group_term: str | None
    attribute_term: str | None
    counterpart: str | None
    """The same sentence about the other group."""
    image: str | None
    """Digest of the picture's file; null for a sentence."""
    term: str | None
    """Term for the thing that the picture shows."""
    source: ItemSource
    provenance: JsonObject
    """Origin of the item: the author, the prompt and the job of a generated item; the earlier texts of an edited item
    in `edited_from`."""
    created_at: Instant
    etag: str
    """Identifies this version of the item; send it in `If-Match` with a change."""
    href: str

    @classmethod
    def of(cls, row: StoredItem) -> Self:
        """Build the view of a stored item."""
        href = f"/v1/corpora/{row.corpus_id}/items/{row.id}"
        return cls.from_row(row, etag=item_etag(row), href=href if row.image is None else f"{href}/image")


class KeptItemsView(ResponseModel):
    """Result of adding items."""

    added: int
    """Number of new items."""
    known: int
    """Number of items that the corpus had already, or that were sent twice."""
    version: int
    """The new version of the corpus."""
    items: list[ItemView]
    """The stored items, in the order sent."""


def item_etag(row: StoredItem) -> str:
    """Return the entity tag of an item; each edit changes it."""
    edit_count = len(row.provenance.get("edited_from", ()))
    content = (row.text, row.group_term, row.attribute_term, row.counterpart, row.term, edit_count)
    return entity_tag(digest_of(content).removeprefix("sha256:")[:16])


def rules_name(row: StoredCorpus) -> str | None:
    """Return the name of a corpus's specification with its version, as ``name@version``; ``None`` without one."""
    if row.rules is None:
        return None
    return row.rules.name if row.rules.version is None else f"{row.rules.name}@{row.rules.version}"


ItemId = Annotated[str, Field(min_length=1, max_length=64, examples=["itm_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])]


class ItemEdit(ItemChange):
    """Edit of one of several items."""

    id: ItemId
    etag: Annotated[str, Field(max_length=200)] | None = None
    """Apply the edit only if this is still the item's `etag`; otherwise nothing is changed (412)."""


class ItemsChange(RequestModel):
    """Edits and removals of items: all of them, or none if one is refused."""

    edit: Annotated[list[ItemEdit], Field(max_length=MAX_TOGETHER, default_factory=list)]
    """Items to edit."""
    remove: Annotated[list[ItemId], Field(max_length=MAX_TOGETHER, default_factory=list)]
    """Items to remove; those that the corpus does not have are ignored."""

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        if not self.edit and not self.remove:
            raise SpecificationError("the request changes nothing; name items to edit or to remove")
        return self


class ChangedItemsView(ResponseModel):
    """Result of a change of several items."""

    removed: int
    """Number of removed items."""
    version: int
    """The new version of the corpus."""
    items: list[ItemView]
    """The edited items, in the order sent."""


class TermCoverage(ResponseModel):
    """Number of items about a term."""

    term: str | None
    """The attribute term of a sentence, or the term of a picture; null for sentences without such a term."""
    role: Literal["first", "second", "neutral"] | None
    """Side of the term in the specification of the corpus; null without a specification."""
    items: int


class CoverageView(ResponseModel):
    """Number of items of a corpus about each term of its specification, and from each source."""

    items: int
    """Number of items."""
    terms: list[TermCoverage]
    """Every term of the specification, in its order, and then other terms of items."""
    sources: dict[str, int]
    """Number of items by source."""

    @classmethod
    def of(cls, counts: Iterable[tuple[str | None, str, int]], words: Json | None) -> Self:
        """Build the view from `counts` of items, as (term, source, number), and a specification's words by role."""
        by_term: Counter[str | None] = Counter()
        by_source: Counter[str] = Counter()
        for term, source, count in counts:
            by_term[term] += count
            by_source[source] += count
        role_of = {term: role for role, list_name in LISTS.items() for term in (words or {}).get(list_name, ())}
        all_terms = {**role_of, **by_term}  # those of the specification first
        terms = [TermCoverage(term=term, role=role_of.get(term), items=by_term[term]) for term in all_terms]
        return cls(items=by_source.total(), terms=terms, sources=dict(by_source))


class WritingRequest(RequestModel):
    """Request for sentences, written by a language model for a corpus."""

    author: AnyTarget
    """The language model that writes: described in full, or the id of a saved target."""
    specification: Reference | None = None
    """Specification of the sentences, if the corpus has none."""
    words: StereotypeWords | None = None
    """The words themselves, instead of the name of a specification."""
    per_term: Annotated[int, Field(ge=1, le=200)] = 10
    """Wanted number of sentences per attribute term; existing sentences count."""
    family: Family = "nothing-else"
    """Kind of prompt: `plain` (a sentence with both words), `in-context` (other words of the lists explain the task) or
    `nothing-else` (nothing else in the sentence may reveal the group)."""
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    """Maximum number of requests for one sentence."""
    reuse: bool = False
    """Copy missing sentences first from other corpora that you can read and that have the same specification. Each
    copied sentence names its source."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """Seed of the order in which the sentences are requested."""
    max_calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] = 10_000
    """Maximum number of calls to the author."""
    deadline_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Seconds after which the job is given up."""
