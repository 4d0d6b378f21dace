"""Corpora: sentences and pictures that are kept, with where they came from."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from assay.errors import SpecificationError
from service.corpora.specification_schemas import check_language
from service.http.openapi.common_schemas import Asked, Instant, Told, instant
from service.http.pagination import PageQuery
from store.corpora.corpora import StoredCorpus
from store.corpora.items import StoredItem

CorpusKind = Literal["sentences", "images"]
CorpusVisibility = Literal["private", "shared"]
MOST_TOGETHER = 1000
"""Items that one request may bring."""

Title = Annotated[str, Field(min_length=1, max_length=200, examples=["Ward talk"])]
Prose = Annotated[str, Field(max_length=4000)]
Term = Annotated[str, Field(min_length=1, max_length=100)]
Sentence = Annotated[str, Field(min_length=1, max_length=1000, examples=["The nurse said that she was late."])]
Reference = Annotated[
    str, Field(min_length=1, max_length=120, description="Name of a specification, or `name@version`.")
]
Language = Annotated[str, Field(min_length=2, max_length=35, examples=["en"]), AfterValidator(check_language)]


# ---------------------------------------------------------------------------- what is asked
class CorpusRequest(Asked):
    """Begin a corpus. It is empty at first."""

    name: Title
    """What people call it."""
    kind: CorpusKind = "sentences"
    specification: Reference | None = None
    """Specification (of kind `stereotype`) whose rules every sentence must keep to: its name, or `name@version`. The
    corpus has its own copy of the words."""
    attribute: Annotated[str, Field(min_length=1, max_length=100, examples=["gender"])] | None = None
    """What the groups in it differ in; a specification says so itself."""
    language: Language | None = None
    """Language of its sentences, as BCP 47 has it; null is that of the specification, or English."""
    licence: Annotated[str, Field(max_length=200, examples=["CC-BY-4.0"])] = ""
    """On what terms others may use it."""
    citation: Annotated[str, Field(max_length=2000)] = ""
    """How to cite it."""
    description: Prose = ""
    """What it is."""
    visibility: CorpusVisibility = "private"
    """Who may read it: only you, or every tenant of this agency. Nobody but you may change it."""


class CorpusChange(Asked):
    """Change what is told of a corpus; what is left out stays as it is."""

    name: Title | None = None
    licence: Annotated[str, Field(max_length=200)] | None = None
    citation: Annotated[str, Field(max_length=2000)] | None = None
    description: Prose | None = None
    visibility: CorpusVisibility | None = None
    """`shared` lets every tenant of this agency read it; `private` takes that back. Ratings that used it stay."""

    def told(self) -> dict[str, str]:
        """Give what is to be changed."""
        return self.model_dump(exclude_none=True)


class SentenceItem(Asked):
    """A sentence to be kept."""

    text: Sentence
    """The sentence."""
    group_term: Term | None = None
    """The word in it that names a group; found by itself where the corpus has a specification."""
    attribute_term: Term | None = None
    """The word in it that the stereotype is about; found by itself where the corpus has a specification."""
    source: Literal["uploaded", "template"] = "uploaded"
    """Whether somebody wrote it, or it was made of a template."""
    note: Annotated[str, Field(max_length=500)] | None = None
    """Where it comes from; kept as part of its provenance."""


class PictureItem(Asked):
    """A picture to be kept."""

    image_b64: Annotated[str, Field(min_length=1, max_length=14_000_000)]
    """A PNG, JPEG, WebP or GIF file in base64. One that is larger than a request may be goes to `…/images`."""
    term: Term
    """What it shows."""
    note: Annotated[str, Field(max_length=500)] | None = None
    """Where it comes from; kept as part of its provenance."""


def _form_of_item(value: Any) -> str:
    return "picture" if isinstance(value, PictureItem) or (isinstance(value, dict) and "image_b64" in value) else "text"


AnyItem = Annotated[
    Annotated[SentenceItem, Tag("text")] | Annotated[PictureItem, Tag("picture")], Discriminator(_form_of_item)
]


class ItemsRequest(Asked):
    """Keep some sentences or pictures. What is there already is not kept twice."""

    items: Annotated[list[AnyItem], Field(min_length=1, max_length=MOST_TOGETHER)]


class ItemChange(Asked):
    """Edit a sentence, or say what a picture shows; what is left out stays."""

    text: Sentence | None = None
    """The sentence as it shall be. Its provenance stays, and remembers what it was."""
    group_term: Term | None = None
    attribute_term: Term | None = None
    term: Term | None = None
    """What the picture shows."""

    @model_validator(mode="after")
    def _change_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise SpecificationError("nothing is to be changed; send the text as it shall be, or a term")
        return self


class CorpusQuery(PageQuery):
    """What the list of corpora is narrowed to."""

    kind: Annotated[CorpusKind | None, Field(description="What they hold.")] = None
    attribute: Annotated[str | None, Field(max_length=100, description="What their groups differ in.")] = None
    visibility: Annotated[
        CorpusVisibility | None, Field(description="`private`: only your own; `shared`: yours and everyone's.")
    ] = None
    specification: Annotated[
        str | None,
        Field(max_length=120, description="What their sentences keep to: a name, `name@version`, or a digest."),
    ] = None


class ExportQuery(BaseModel):
    """In which form a corpus is downloaded."""

    model_config = ConfigDict(extra="forbid")

    format: Annotated[Literal["csv", "jsonl"], Field(description="A table, or one JSON object a line.")] = "csv"


class PictureForm(BaseModel):
    """What is said of a picture beside its bytes."""

    model_config = ConfigDict(extra="forbid")

    term: Annotated[str, Field(min_length=1, max_length=100, description="What it shows.", examples=["nurse"])]
    note: Annotated[str | None, Field(max_length=500, description="Where it comes from.")] = None


# ---------------------------------------------------------------------------- what is told
class CorpusLine(Told):
    """A corpus in a list."""

    id: str
    name: str
    kind: CorpusKind
    language: str
    attribute: str
    specification: Annotated[str | None, Field(examples=["ward-work@1"])]
    """What its sentences keep to, as its owner names it."""
    specification_digest: str | None
    """The same digest is the same specification, whoever names it."""
    licence: str
    citation: str
    description: str
    visibility: CorpusVisibility
    own: bool
    """Whether it is yours, so that you may change it."""
    items: int
    """Sentences or pictures in it."""
    version: int
    """Grows with every change, of its items too. Ratings name the version they were asked with."""
    created_at: Instant
    updated_at: Instant
    links: dict[str, str]

    @classmethod
    def of(cls, row: StoredCorpus, items: int, tenant: str) -> Self:
        """Show a stored corpus to a tenant."""
        return cls(**_plain(row, items, tenant))


class CorpusView(CorpusLine):
    """A corpus, with the words of its specification."""

    words: dict[str, Any] | None
    """The specification's words: who may read the corpus may use them."""

    @classmethod
    def of(cls, row: StoredCorpus, items: int, tenant: str) -> Self:
        """Show a stored corpus in full."""
        return cls(**_plain(row, items, tenant), words=None if row.rules is None else dict(row.rules.words))


class CorpusList(Told):
    """One page of corpora, newest first."""

    items: list[CorpusLine]
    next_cursor: str | None


class ItemView(Told):
    """A sentence or a picture of a corpus."""

    id: str
    seq: int
    """Its place in the corpus."""
    text: str | None
    """The sentence; null for a picture."""
    group_term: str | None
    attribute_term: str | None
    counterpart: str | None
    """The sentence with the group's word exchanged."""
    image: str | None
    """Digest of the picture's file; null for a sentence."""
    term: str | None
    """What the picture shows."""
    source: Literal["written", "uploaded", "template", "edited"]
    provenance: dict[str, Any]
    """How it came to be: of one that was written the author, the prompt and the job; of one that was edited, in
    `edited_from`, what it was."""
    created_at: Instant
    href: str

    @classmethod
    def of(cls, row: StoredItem) -> Self:
        """Show a stored item."""
        names = ("id", "seq", "text", "group_term", "attribute_term", "counterpart", "image", "term", "source")
        told = {name: getattr(row, name) for name in names}
        href = f"/v1/corpora/{row.corpus_id}/items/{row.id}"
        if row.image is not None:
            href += "/image"
        return cls(**told, provenance=row.provenance, created_at=instant(row.created_at), href=href)


class ItemList(Told):
    """One page of a corpus's items, in the order they came."""

    items: list[ItemView]
    next_cursor: str | None


class KeptItemsView(Told):
    """What became of items that were sent."""

    added: int
    """How many are new."""
    known: int
    """How many were there already, or came twice."""
    version: int
    """The corpus's version now."""
    items: list[ItemView]
    """Each as it is kept, in the order sent; one that was known stands as it was."""


def _plain(row: StoredCorpus, items: int, tenant: str) -> dict[str, Any]:
    here, own = f"/v1/corpora/{row.id}", row.tenant == tenant
    names = ("id", "name", "kind", "language", "attribute", "licence", "citation", "description", "visibility")
    links = {"self": here, "items": f"{here}/items", "export": f"{here}/export"}
    if own and row.kind == "sentences":
        links["writing"] = f"{here}/writing"
    return {name: getattr(row, name) for name in (*names, "version")} | {
        "specification": named(row),
        "specification_digest": None if row.rules is None else row.rules.digest,
        "own": own,
        "items": items,
        "created_at": instant(row.created_at),
        "updated_at": instant(row.updated_at),
        "links": links,
    }


def named(row: StoredCorpus) -> str | None:
    """Name the specification of a corpus as its owner does."""
    if row.rules is None:
        return None
    return row.rules.name if row.rules.version is None else f"{row.rules.name}@{row.rules.version}"
