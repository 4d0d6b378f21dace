"""Schemas of compositions: inferred ratings of chains of services."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay.composition.compatibility import MAX_LINKS, MIN_LINKS
from assay.document import JsonObject
from assay.errors import SpecificationError
from service.http.openapi.common_schemas import (
    Instant,
    KindName,
    LetterName,
    RequestModel,
    ResponseModel,
    Visibility,
    instant,
)
from service.ratings.schemas import RequesterView
from store.ratings.compositions import StoredComposition

Provenance = Literal["measured", "inferred"]
Named = Annotated[str, Field(min_length=1, max_length=64)]


class ComposedLink(RequestModel):
    """One service of a chain, named by one of its ratings, or by its target, which means its newest rating."""

    rating: Annotated[Named, Field(examples=["rat_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])] | None = None
    """Id of a rating that you can read."""
    target: Annotated[Named, Field(examples=["tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])] | None = None
    """Id of your target; its newest readable rating for the attribute (and method) is used."""

    @model_validator(mode="after")
    def _check_one_is_named(self) -> Self:
        if (self.rating is None) == (self.target is None):
            raise SpecificationError("a link names either a rating or a target", "rating")
        return self


class CompositionRequest(RequestModel):
    """Request to infer the rating of a chain from the ratings of its services."""

    chain: Annotated[list[ComposedLink], Field(min_length=MIN_LINKS, max_length=MAX_LINKS)]
    """The services in the order of the calls."""
    attribute: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Attribute of the ratings of named targets; by default the attribute of the named ratings."""
    method: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Method of the ratings of named targets; by default any method."""
    table: Literal["published", "revised"] = "published"
    """Table of the main result: Srivastava & Rossi (2018), Table 2, or the same table with one corrected cell. The
    answer has the results of both."""
    visibility: Visibility = "private"
    """Readers of the composition; each of its ratings must have at least these readers."""


class LinkRating(ResponseModel):
    """The rating of one service of a chain."""

    id: str
    href: str
    method: str
    letter: LetterName | None
    declared: bool
    probabilities: dict[str, float] | None
    provenance: Provenance
    """Always `measured`, also for a rating of a whole chain."""
    requester: RequesterView | None = None
    """Null for ratings of versions that did not record it."""
    rated_at: str
    expires_at: str
    expired: bool


class LinkView(ResponseModel):
    """One service of a chain."""

    place: int
    """Position in the chain, from 1."""
    rating: LinkRating
    target: JsonObject
    """Name, kind, protocol, address and digest at the time of the rating."""
    target_id: str | None
    """Id of the target in the request."""


class EntryView(ResponseModel):
    """One cell of a composition table."""

    row: LetterName
    """Letter of the first service."""
    column: LetterName
    """Letter of the second service."""
    possible: list[LetterName]


class StepView(ResponseModel):
    """Composition of two neighbouring services."""

    first: str
    second: str
    possible: list[LetterName]
    entries: list[EntryView]


class BracketingView(ResponseModel):
    """One order in which the chain can be composed; one entry for each different result."""

    written: str
    possible: list[LetterName]
    steps: list[StepView]


class TableAnswer(ResponseModel):
    """Result of one composition table."""

    possible: list[LetterName]
    """Letters that every bracketing allows, worst first; if there is none, the letters that any bracketing allows."""
    letter: LetterName | None
    """The letter, if only one is possible."""
    worst: LetterName
    contradiction: bool
    probabilities: dict[str, float] | None
    """Probability of each letter, and of `must_be_measured`; null if a link has no probabilities."""
    bracketings: list[BracketingView]
    """Results by order of composition; empty if a link has no declared letter."""


class PredictionView(ResponseModel):
    """Prediction for a chain from the measured matrices of its services."""

    model_config = ConfigDict(extra="allow")

    provenance: Literal["inferred"]
    letter: LetterName
    declared: bool
    confidence: float
    probabilities: dict[str, float]
    emits_other: bool
    """Whether a service before the last can lose the value; the following services were not measured on such text."""
    components: list[JsonObject]
    """One component for each path through the chain, such as a middle language."""


class NoteView(ResponseModel):
    """A caveat of a composition."""

    code: str
    text: str


class Verification(ResponseModel):
    """Request that measures the chain: send `body` unchanged."""

    method: Literal["POST"]
    href: str
    ready: bool
    """Whether the request would be accepted now."""
    why: str | None
    """The reason why it would not be accepted."""
    body: JsonObject


class CompositionView(ResponseModel):
    """The inferred rating of a chain of services. It never changes."""

    model_config = ConfigDict(extra="allow")

    id: str
    provenance: Literal["inferred"]
    kind: KindName
    """Kind of the whole chain: that of its last service."""
    attribute: str
    chain: list[LinkView]
    letter: LetterName | None
    """Inferred from the table or, if it allows several letters, from the measured matrices; null: must be measured."""
    settled_by: Literal["table", "matrices"] | None
    must_be_measured: bool
    table: Literal["published", "revised"]
    possible: list[LetterName]
    """Possible letters by the chosen `table`, worst first."""
    worst: LetterName
    contradiction: bool
    probabilities: dict[str, float] | None
    """Probabilities of the letters by the chosen `table`."""
    tables: dict[str, TableAnswer]
    """Results of both tables, `published` and `revised`."""
    predicted: PredictionView | None
    not_predicted: str | None
    """The reason why there is no prediction."""
    explanation: list[str]
    notes: list[NoteView]
    verification: Verification | None
    """Null for tenants other than the owner."""
    visibility: Visibility
    created_at: Instant


def view_of(row: StoredComposition, *, is_owner: bool) -> JsonObject:
    """Build the view of a composition; only its owner gets the targets' ids and the request that measures the chain."""
    masked_chain = [{**link, "target_id": None} for link in row.document["chain"]]
    masked_fields: JsonObject = {} if is_owner else {"verification": None, "chain": masked_chain}
    columns = {"visibility": row.visibility, "created_at": instant(row.created_at)}
    return {"id": row.id, **row.document, **masked_fields, **columns}


class CompositionList(ResponseModel):
    """One page of compositions, newest first."""

    items: list[JsonObject]
    """Compositions, as in `GET /v1/compositions/{id}`."""
    next_cursor: str | None
