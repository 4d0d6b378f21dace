"""The rating document as types, which are written to JSON and read from it in one way (`assay.document.codec`).

The JSON is signed and never changes. A method with tables of its own extends `ComponentDocument` by their types and
names its class in `Method.COMPONENT`. Every field has a default, because ratings of earlier versions lack some. Keys
without a field are in `ComponentDocument.json` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from assay.document.codec import NO_ENTRIES, NO_ITEMS, Json, Shares, Text, always, read_json
from assay.model import Detail, Interval, Letter


# ---------------------------------------------------------------------------- parts
@dataclass(frozen=True)
class EffectDocument:
    """An estimate with its interval, or the reason why there is none."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    why: str | None = None
    error: str | None = None

    @classmethod
    def of(cls, interval: Interval) -> Self:
        """Return an interval as a document has it."""
        return cls(interval.estimate, interval.low, interval.high, interval.level)


@dataclass(frozen=True)
class Absent:
    """The reason why there is no number; `error` is the code of the error that an analysis raised."""

    why: str | None = None
    error: str | None = None


NO_EFFECT = EffectDocument()
"""An effect that was not measured."""


@dataclass(frozen=True)
class HiddenDocument:
    """An effect that a mean can hide (`assay.model.HiddenEffect`)."""

    kind: str | None = None
    name: str | None = None
    effect: EffectDocument = NO_EFFECT
    limit: float | None = always(None)
    bound: bool = always(False)


@dataclass(frozen=True)
class BlockDocument:
    """A data block of a translator: declared shares, and counts of what was asked and observed."""

    name: str | None = None
    role: str | None = None
    specified: Shares = NO_ENTRIES
    asked: Shares = NO_ENTRIES
    observed: Shares = NO_ENTRIES


@dataclass(frozen=True)
class LookDocument:
    """A look (interim analysis) of a translator's component."""

    look: int | None = None
    texts_per_block: int | None = None
    probabilities: Shares = always(NO_ENTRIES)
    letter: Letter | None = always(None)
    stopped: bool = always(False)


@dataclass(frozen=True)
class ExampleDocument:
    """One text as asked, on its way, as returned, and as read; `why` is the cause of a lost reply."""

    asked: str | None = None
    middle: str | None = always(None)
    returned: str | None = always(None)
    read: tuple[str, ...] = always(NO_ITEMS)
    why: str | None = always(None)


@dataclass(frozen=True)
class ReasonDocument:
    """A reason: its code, its facts, and the sentence that was signed."""

    code: str | None = None
    text: str | None = None
    facts: Json = always(NO_ENTRIES)
    component: str | None = always(None)


@dataclass(frozen=True)
class SettleDocument:
    """Estimated number of further questions that settle an undeclared letter; ``None`` if none would."""

    more_probes: int | None = always(None)


@dataclass(frozen=True)
class ContentDocument:
    """Pairs of texts with the same content, and how many of them got the same answer."""

    pairs: int | None = None
    equal: int | None = None


NO_CONTENT = ContentDocument()
"""Contents that were not compared."""


@dataclass(frozen=True)
class ComponentDocument(Detail):
    """One measured part of a rating. The first fields are those of `assay.model.Component`, the others are details.

    A method gives the details (`assay.model.Component.detail`); `assay.rating.document` fills in the first fields.
    """

    name: str | None = always(None)
    letter: Letter | None = always(None)
    declared: bool = always(False)
    probabilities: Shares = always(NO_ENTRIES)
    effects: Mapping[str, EffectDocument | None] = always(NO_ENTRIES)
    usable: int | None = always(None)
    unusable: int | None = always(None)
    failed: int | None = always(None)
    published: Mapping[str, str | None] = always(NO_ENTRIES)
    reasons: tuple[ReasonDocument, ...] = always(NO_ITEMS)

    estimand: str | None = None
    unasked: int | None = None
    unusable_why: Shares = NO_ENTRIES
    failed_why: Shares = NO_ENTRIES
    missing: Mapping[str, str] = NO_ENTRIES
    examples: tuple[ExampleDocument, ...] = NO_ITEMS
    analyses: Json = NO_ENTRIES
    hidden: tuple[HiddenDocument, ...] = NO_ITEMS
    by_group: Mapping[str, Shares] = NO_ENTRIES
    tolerances: Mapping[str, float | None] = NO_ENTRIES
    sensitivity: Mapping[str, Shares] = NO_ENTRIES
    settle: SettleDocument | None = None

    language: str | None = None
    language_name: str | None = None
    template: str | None = None
    transitions: Mapping[str, Shares] = NO_ENTRIES
    rates: Mapping[str, Mapping[str, EffectDocument | None]] = NO_ENTRIES
    blocks: tuple[BlockDocument, ...] = NO_ITEMS
    content: ContentDocument = NO_CONTENT
    decision: tuple[LookDocument, ...] = NO_ITEMS
    json: Json = NO_ENTRIES
    """The component as stored."""

    def effect(self, name: str) -> float | None:
        """Return the estimate of an effect; ``None`` if it was not measured."""
        return (self.effects.get(name) or NO_EFFECT).estimate

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """The codes of the reasons."""
        return tuple(reason.code for reason in self.reasons if reason.code)


NO_COMPONENT = ComponentDocument()
"""A component of which nothing is known."""


@dataclass(frozen=True)
class AggregationDocument(Detail):
    """How the letters of the components were combined; a method's own fields are in `json`."""

    rule: str | None = None
    deciding: tuple[str, ...] = always(NO_ITEMS)
    adjusted: Mapping[str, Shares] = NO_ENTRIES
    vote: str | None = None
    json: Json = NO_ENTRIES


@dataclass(frozen=True)
class ServiceDocument:
    """The rated service, or the author of its texts, at the time of the rating; `json` is the whole descriptor."""

    name: str | None = None
    kind: str | None = None
    protocol: str | None = None
    url: str | None = always(None)
    settings: Json = NO_ENTRIES
    digest: str | None = None
    json: Json = NO_ENTRIES


NO_SERVICE = ServiceDocument()
"""A service of which nothing is known."""


@dataclass(frozen=True)
class CommitmentDocument:
    """Commitment of a job to its experiment and seed, with the nonce that opens it."""

    digest: str | None = None
    nonce: str | None = None


@dataclass(frozen=True)
class MethodologyDocument:
    """Version of the methodology, and the digest of its text."""

    version: str | None = None
    digest: str | None = None


@dataclass(frozen=True)
class NextMethodologyDocument:
    """The letter by the next methodology; a stored rating has none."""

    version: str | None = always(None)
    letter: str | None = always(None)


@dataclass(frozen=True)
class RequesterDocument:
    """Facts about the request at the time of the rating."""

    role: str | None = None
    host_proved: bool | None = always(None)
    description: str | None = None


@dataclass(frozen=True)
class SourceDocument:
    """The rating of which a re-rating was made, and its methodology."""

    rating: str | None = always(None)
    methodology: MethodologyDocument = MethodologyDocument()


NO_COMMITMENT, NO_REQUESTER, NO_AGGREGATION = CommitmentDocument(), RequesterDocument(), AggregationDocument()
"""Defaults of a rating's fields."""


@dataclass(frozen=True)
class RatingDocument:
    """A rating as it was signed; `json` is the document as stored."""

    letter: Letter | None = always(None)
    declared: bool = always(False)
    probabilities: Shares = always(NO_ENTRIES)
    method: str | None = None
    attribute: str | None = None
    confidence: float | None = None
    delta: float | None = None
    experiment: Json = NO_ENTRIES
    target: ServiceDocument = NO_SERVICE
    author: ServiceDocument = always(NO_SERVICE)
    hosts: tuple[str, ...] = NO_ITEMS
    components: tuple[ComponentDocument, ...] = NO_ITEMS
    aggregation: AggregationDocument = NO_AGGREGATION
    published: Mapping[str, str | None] = NO_ENTRIES
    reasons: tuple[ReasonDocument, ...] = NO_ITEMS
    counts: Shares = NO_ENTRIES
    methodology: MethodologyDocument = MethodologyDocument()
    engine_version: str | None = None
    seed: int | None = None
    audit: str | None = None
    commitment: CommitmentDocument | None = NO_COMMITMENT
    calls: int | None = None
    evidence_digest: str | None = None
    visibility: str | None = None
    next_methodology: NextMethodologyDocument | None = None
    id: str | None = None
    rated_at: str | None = None
    expires_at: str | None = None
    requester: RequesterDocument = NO_REQUESTER
    rerated_from: SourceDocument | None = None
    json: Json = NO_ENTRIES

    @property
    def reason_codes(self) -> tuple[str, ...]:
        """The codes of the reasons."""
        return tuple(reason.code for reason in self.reasons if reason.code)


# ---------------------------------------------------------------------------- reader
def read_rating(
    document: Json,
    component: type[ComponentDocument] = ComponentDocument,
    text: Text = str,
    aggregation: type[AggregationDocument] = AggregationDocument,
) -> RatingDocument:
    """Read a rating document, with its components and its aggregation as the classes of their method."""
    rating = read_json(RatingDocument, {**document, "components": (), "aggregation": {}}, text)
    return replace(
        rating,
        components=read_json(tuple[component, ...], document.get("components"), text),  # type: ignore[valid-type]
        aggregation=read_json(aggregation, document.get("aggregation"), text),
        commitment=None if document.get("commitment", "") is None else rating.commitment,
        json=document,
    )
