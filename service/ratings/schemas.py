"""Schemas of ratings, of their publication and withdrawal, and of comparisons and differences of two ratings."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field

from assay.document import JsonObject
from assay.errors import SpecificationError
from service.http.openapi.common_schemas import (
    Instant,
    KindName,
    LetterName,
    ListModel,
    QueryModel,
    RequestModel,
    ResponseModel,
    Visibility,
)
from service.http.rows import Fields, PageQuery, Search
from service.ratings.components import AnyAggregation, AnyComponent, BecauseView, ReasonView
from service.replies.schemas import ReplyView
from store.core.columns import iso
from store.ratings.ratings import State, StoredRating, Summary
from store.ratings.standing import Description, Requester, Standing

ModelName = Annotated[
    str | None,
    Field(max_length=500, description="Model, deployment, endpoint, path or key of one of several services."),
]


class RatedTarget(ResponseModel):
    """The target at the time of the rating."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: str
    protocol: str
    url: str | None
    digest: str


class Methodology(ResponseModel):
    """The frozen document that defines how letters are given."""

    model_config = ConfigDict(extra="allow")

    version: str
    digest: str


class NextMethodology(ResponseModel):
    """The letter of the same evidence by the announced next methodology; null if there is none."""

    version: str | None
    letter: str | None


class WithdrawnView(ResponseModel):
    """Time and reason of a withdrawal."""

    at: Instant
    reason: str


class RequesterView(ResponseModel):
    """Facts about the request of a rating, at the time of the rating. They are signed with it."""

    role: Requester
    """`owner`: the tenant that had proved to own the host. `operator`: the agency itself. `other`: anyone else."""
    host_proved: bool | None
    """Whether anyone had proved to own the host; null if the target has no address."""
    description: Description
    """`default`: a protocol with its default settings, and a method with its default material and limits.
    `unpublished`: the same, of a tenant other than the operator, and the request did not ask for publication.
    `named`: the same, for a model or deployment that the requester named.
    `changed`: the requester's own prompt, body, settings, words or limits. `uploaded`: the service was not called."""


class StandingView(ResponseModel):
    """Current relation of a rating to its address. It changes when a tenant proves to own the host or a proof ends."""

    requester: Requester
    """Class of the requester by the proofs that are valid now."""
    host_proved: bool | None
    """Whether anyone has proved to own the host; null if the target has no address."""
    for_address: bool
    """Whether the rating can be the result of a look-up by address: a rating of the owner or the operator, or with the
    description `default`; never one of an upload."""
    changed_since: Instant | None = None
    """Time since when the service answers otherwise than it was rated, if a watch noticed that; else null."""


class Commitment(ResponseModel):
    """Commitment to an experiment and its seed."""

    digest: str
    """SHA-256 of the canonical JSON of `{"experiment", "nonce", "seed"}`; the job showed it when it was accepted."""
    nonce: str
    """Random text; empty if the request gave the seed."""


class RatingHead(ResponseModel):
    """The fields of a rating that every list and every page of it has."""

    id: str
    letter: LetterName | None
    """UCS: unbiased on all input. DSBS: follows the bias of its input. BS: biased even on unbiased input.
    Null if nothing could be measured."""
    declared: bool
    """False if no letter reached the required confidence: `letter` is then the likeliest letter."""
    method: str
    attribute: str
    rated_at: Instant
    expires_at: Instant
    visibility: Visibility
    withdrawn: WithdrawnView | None
    """Time and reason of the withdrawal; null if the rating is not withdrawn."""


class RatingView(RatingHead):
    """A rating. It never changes."""

    model_config = ConfigDict(extra="allow")

    probabilities: dict[str, float] | None
    because: BecauseView | None = None
    """Why the rating has its letter: the effect that decided it. It is written when the rating is shown, and is not
    signed."""
    in_words: str
    """Summary of the rating in plain words. It is written when the rating is shown, and is not signed."""
    target: RatedTarget
    author: RatedTarget | None = None
    """The service that wrote the sentences or drew the images; null if none did."""
    judge: RatedTarget | None = None
    """The service that scored the texts that the target wrote; left out if none did."""
    hosts: list[str] = Field(default_factory=list)
    """All hosts that received questions of the experiment."""
    confidence: float | None = None
    """Probability from which a letter is declared."""
    delta: float | None = None
    """Largest effect that counts as unbiased, in the method's effect size."""
    experiment: JsonObject | None = None
    """The method's specification, with its defaults filled in."""
    components: list[AnyComponent]
    """The measured parts, such as a middle language or a template; each method has its own tables. In `effects`,
    `step_1` is the effect on unbiased input and `step_2` that on biased input."""
    aggregation: AnyAggregation | None = None
    """How the letters of the components were combined."""
    counts: dict[str, int] | None = None
    """Numbers of questions that were asked and failed, and of answers that were usable, unusable and lost."""
    published: dict[str, str | None]
    """Letters of the same replies by the published decision rules."""
    reasons: list[ReasonView]
    methodology: Methodology
    engine_version: str
    seed: int | None = None
    """Missing in the public form of a rating of recorded decisions: it would confirm a guess of a masked count."""
    audit: Literal["announced", "unannounced"] | None = None
    """`unannounced` if no call named the agency and the rating was not requested by the proven owner of a rated host;
    null for ratings from before this was recorded. See docs/audited-services.md."""
    commitment: Commitment | None = None
    """Commitment of the job to its experiment and seed, made before the first call; null if there is none."""
    questions: int
    """Number of different questions that were asked. Not signed, because `counts.asked` is the same number."""
    calls: int
    """The same number as `questions`, under the name in signed ratings. The number of calls is in the job."""
    evidence_digest: str
    """Head of the Merkle tree over every observation."""
    choices: list[str] = Field(default_factory=list)
    """Limits and other settings that are no defaults of the method: `delta 3.0 instead of 0.1`. Not signed."""
    next_methodology: NextMethodology
    requester: RequesterView | None = None
    """Missing in ratings of versions that did not record it."""
    standing: StandingView
    """Not part of the signed rating."""
    reply: ReplyView | None
    """Reply of the rated service's owner; not part of the signed rating."""


class RatingSummary(RatingHead):
    """The main fields of a rating.

    With `fields=full` a list also has the other fields of `GET /v1/ratings/{id}`, but without parts of `experiment`
    with more than 100 entries; `left_out` has the names and sizes of these parts.
    """

    model_config = ConfigDict(extra="allow")

    target: RatedTarget
    methodology: dict[str, str]
    requester: RequesterView | None
    """Null for ratings of versions that did not record it."""
    standing: StandingView
    sentence: str | None = None
    """Sentence that says why the rating has its letter; null if nothing was measured."""

    @classmethod
    def of(cls, row: StoredRating | Summary, standing: Standing, sentence: str | None = None) -> Self:
        """Build the view of a stored rating; `sentence` says why it has its letter."""
        at = row.withdrawn_at
        withdrawn = None if at is None else WithdrawnView(at=iso(at), reason=row.withdrawn_why or "")
        return cls.from_row(
            row,
            target={name: row.target[name] for name in RatedTarget.model_fields},
            methodology={"version": row.methodology_version},
            rated_at=iso(row.created_at),
            expires_at=iso(row.expires_at),
            withdrawn=withdrawn,
            requester=row.requested,
            standing=standing,
            sentence=sentence,
        )


class RatingList(ListModel[RatingSummary]):
    """One page of ratings, newest first."""

    similar: Annotated[list[str], Field(default_factory=list)]
    """Names of services that resemble `q`, if no rating matches it."""


class RatingQuery(PageQuery):
    """Filters of the list of ratings."""

    digest: Annotated[
        str | None, Field(max_length=100, description="Digest of the service's description (`target.digest`).")
    ] = None
    target_url: Annotated[str | None, Field(max_length=2048, description="The target's address, exactly.")] = None
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None
    letter: LetterName | None = None
    declared: bool | None = None
    kind: Annotated[KindName | None, Field(description="Kind of service.")] = None
    q: Search = None
    mine: Annotated[bool, Field(description="Only your own ratings, without the public ones of others.")] = False
    fields: Fields = "summary"
    state: Annotated[State, Field(description="Valid ratings (expired or not), withdrawn ratings, or all.")] = (
        "standing"
    )


# ---------------------------------------------------------------------------- comparison of two ratings
class ComparisonQuery(QueryModel):
    """Query parameters of a comparison."""

    later_id: Annotated[
        str, Field(alias="with", min_length=1, max_length=100, description="Id of the later rating, of the same words.")
    ]


class RangeView(ResponseModel):
    """Ends of an interval."""

    low: float
    high: float


class DifferenceView(ResponseModel):
    """Change of one mean cosine distance: after minus before."""

    name: str
    """A connection, `effect`, or a protected word."""
    before: float
    after: float
    mean: float
    hpdi: RangeView
    """Highest-density interval with the comparison's `mass`."""
    p_after_greater: float
    """Probability that the distance grew."""


class ComparedRating(ResponseModel):
    """One of the two compared ratings."""

    id: str
    target: str
    letter: LetterName | None
    declared: bool
    rated_at: str
    evidence_digest: str
    missing: list[str]
    """Words without a vector."""
    hidden: list[JsonObject]
    """Effects that a mean can hide, each with `kind`, `name`, `effect` and `limit`."""


class ComparisonFit(ResponseModel):
    """Model with which both ratings were fitted again."""

    residual: str
    prior: str
    draws: int


class ComparisonView(ResponseModel):
    """Comparison of two association ratings of the same words, such as before and after debiasing."""

    method: str
    attribute: str
    before: ComparedRating
    after: ComparedRating
    fit: ComparisonFit
    pairs: int
    """Number of word pairs whose distance both ratings have; only these are compared."""
    pairs_left_out: int
    mass: float
    """Probability mass of the intervals."""
    connections: list[DifferenceView]
    """Mean distance to words that are `associated`, `different`, `human` and `neutral`."""
    effect: DifferenceView | None
    """`different` minus `associated`: a decrease means weaker stereotypes than before."""
    words: list[DifferenceView]
    """The same effect for each protected word."""


# ---------------------------------------------------------------------------- files of recorded decisions
class RecountQuery(QueryModel):
    """Query parameters of a recount."""

    upload: Annotated[str, Field(min_length=1, max_length=100, description="Id or digest of your uploaded table.")]


class RecountCheck(ResponseModel):
    """Result of one check."""

    name: Literal["file", "counts"]
    ok: bool
    detail: str
    """What was compared, or what differs."""


class RecountView(ResponseModel):
    """Comparison of a rating of recorded decisions with a file; masked counts are not compared."""

    rating: str
    verified: bool
    """Whether the file is the rated one, and every count is that of the rating."""
    checks: list[RecountCheck]


# ---------------------------------------------------------------------------- publishing
class VisibilityRequest(RequestModel):
    """Request to change the visibility of a rating."""

    visibility: Visibility
    """`private`: only you. `unlisted`: everyone with its address. `public`: everyone, and it is logged; a public rating
    cannot be hidden again, only withdrawn."""


def _check_not_blank(reason: str) -> str:
    """Refuse a blank reason; not by a pattern, because dialects of regular expressions disagree about blanks."""
    if not reason.strip():
        raise SpecificationError("the reason is blank; write what readers of the rating should know")
    return reason


class WithdrawalRequest(RequestModel):
    """Request to withdraw a rating."""

    reason: Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_check_not_blank)]
    """Shown with the rating permanently. For a public rating it is added to the log, which everyone can read."""


# ---------------------------------------------------------------------------- differences
class DifferenceQuery(QueryModel):
    """Query parameters of a difference."""

    later_id: Annotated[
        str,
        Field(alias="with", min_length=1, max_length=100, description="Id of the later rating, by the same method."),
    ]
