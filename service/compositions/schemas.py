"""Compositions: what is inferred of services called one after the other."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay.composition.compatibility import FEWEST, MOST
from assay.errors import SpecificationError
from service.http.openapi.common_schemas import Asked, Instant, KindName, LetterName, Told, Visibility, instant
from store.ratings.compositions import StoredComposition

Provenance = Literal["measured", "inferred"]
Named = Annotated[str, Field(min_length=1, max_length=64)]


class ComposedLink(Asked):
    """A service of the chain: one of its ratings, or the target, which stands for its newest one."""

    rating: Annotated[Named, Field(examples=["rat_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])] | None = None
    """Id of a rating that you may read."""
    target: Annotated[Named, Field(examples=["tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])] | None = None
    """Id of a target of yours: its newest rating of that attribute (and method) that you may read."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.rating is None) == (self.target is None):
            raise SpecificationError("a link names either a rating or a target", "rating")
        return self


class CompositionRequest(Asked):
    """Infer the rating of services called one after the other, from theirs."""

    chain: Annotated[list[ComposedLink], Field(min_length=FEWEST, max_length=MOST)]
    """The services in the order in which they are called."""
    attribute: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Of the ratings that targets stand for; where it is left out, that of the ratings in the chain."""
    method: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Of the ratings that targets stand for; any by default."""
    table: Literal["published", "revised"] = "published"
    """Whose answer is the headline: Srivastava & Rossi (2018), Table 2, or the same with one cell corrected. Both
    are always given."""
    visibility: Visibility = "private"
    """Who may read the composition; never more than may read each of its ratings."""


class LinkRating(Told):
    """The rating that a service is taken for."""

    id: str
    href: str
    method: str
    letter: LetterName | None
    declared: bool
    probabilities: dict[str, float] | None
    provenance: Provenance
    """`measured`; a rating by a chain of targets is one, too."""
    rated_at: str
    expires_at: str
    expired: bool


class LinkView(Told):
    """A service of the chain."""

    place: int
    """From 1."""
    rating: LinkRating
    target: dict[str, Any]
    """Name, kind, protocol, address and digest, as it was rated."""
    target_id: str | None
    """The target of yours that it was asked for by."""


class EntryView(Told):
    """A cell of a table."""

    row: LetterName
    """Letter of the first service."""
    column: LetterName
    """Letter of the second."""
    possible: list[LetterName]


class StepView(Told):
    """Two neighbours put together."""

    first: str
    second: str
    possible: list[LetterName]
    entries: list[EntryView]


class BracketingView(Told):
    """One way to read the chain; there is one here for each different answer."""

    written: str
    possible: list[LetterName]
    steps: list[StepView]


class TableAnswer(Told):
    """What one table says."""

    possible: list[LetterName]
    """What every bracketing allows, worst first; if they contradict each other, what any of them does."""
    letter: LetterName | None
    """If only one is possible."""
    worst: LetterName
    contradiction: bool
    probabilities: dict[str, float] | None
    """Of each letter, and of `must_be_measured`; null where a link has none."""
    bracketings: list[BracketingView]
    """Empty where a link has no declared letter."""


class PredictionView(Told):
    """What the measured matrices of the services say of the chain."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    provenance: Literal["inferred"]
    letter: LetterName
    declared: bool
    confidence: float
    probabilities: dict[str, float]
    emits_other: bool
    """Whether a service before the last can lose the value; what follows was never measured on such text."""
    components: list[dict[str, Any]]
    """Each way through the chain, such as a middle language."""


class NoteView(Told):
    """Something to know before relying on it."""

    code: str
    text: str


class Verification(Told):
    """The job that measures the composite: send `body` as it is."""

    method: Literal["POST"]
    href: str
    ready: bool
    """Whether the body would be accepted now."""
    why: str | None
    """What it lacks if not."""
    body: dict[str, Any]


class CompositionView(Told):
    """What is inferred of services called one after the other. It never changes."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    id: str
    provenance: Literal["inferred"]
    kind: KindName
    """What the chain as a whole is: what its last service is."""
    attribute: str
    chain: list[LinkView]
    letter: LetterName | None
    """Inferred from the table or, where that leaves it open, from the measured matrices; null: must be measured."""
    settled_by: Literal["table", "matrices"] | None
    must_be_measured: bool
    table: Literal["published", "revised"]
    possible: list[LetterName]
    """By that table, worst first."""
    worst: LetterName
    contradiction: bool
    probabilities: dict[str, float] | None
    """By that table."""
    tables: dict[str, TableAnswer]
    """Both, `published` and `revised`."""
    predicted: PredictionView | None
    not_predicted: str | None
    """Why there is no prediction."""
    explanation: list[str]
    notes: list[NoteView]
    verification: Verification | None
    """Null for others than who composed it."""
    visibility: Visibility
    created_at: Instant


def shown(row: StoredComposition, *, own: bool) -> dict[str, Any]:
    """Show a composition; how to verify it only to whoever can use the targets it names."""
    hidden: dict[str, Any] = {} if own else {"verification": None, "chain": [_of_others(one) for one in _chain(row)]}
    dated = {"visibility": row.visibility, "created_at": instant(row.created_at)}
    return {"id": row.id, **row.document, **hidden, **dated}


def _chain(row: StoredComposition) -> list[dict[str, Any]]:
    chain: list[dict[str, Any]] = row.document["chain"]
    return chain


def _of_others(link: dict[str, Any]) -> dict[str, Any]:
    return {**link, "target_id": None}


class CompositionList(Told):
    """One page of compositions, newest first."""

    items: list[dict[str, Any]]
    """Compositions, as `GET /v1/compositions/{id}` gives them."""
    next_cursor: str | None
