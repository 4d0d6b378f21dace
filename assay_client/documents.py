"""What travels: the JSON of every request and answer, with its shape declared.

Made from the API's description by `python -m proving.make_client`; not to be edited.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


class Active(TypedDict):
    """A limit on jobs that are queued or running."""

    limit: int
    used: int


class Alternation(TypedDict):
    """Ask a classifier or a regressor about the same profile with each value of an attribute."""

    attribute: str
    method: Literal["alternation"]
    texts: NotRequired[TextProfiles | None]
    records: NotRequired[RecordProfiles | None]
    answers: NotRequired[Literal["labels", "numbers"] | None]
    labels: NotRequired[list[str]]
    tie: NotRequired[float]
    delta: NotRequired[float]
    confidence: NotRequired[float]
    profiles: NotRequired[int]
    stop_early: NotRequired[bool]
    folds: NotRequired[int]
    aggregation: NotRequired[Literal["worst", "vote"]]


class Association(TypedDict):
    """Measure how near protected words are to stereotypes of their own and of other groups."""

    attribute: NotRequired[str]
    method: Literal["association"]
    specification: NotRequired[str | None]
    words: NotRequired[AssociationWords | None]
    residual: NotRequired[Literal["per-connection", "shared"]]
    prior: NotRequired[Literal["paper", "weak"]]
    draws: NotRequired[int]
    delta: NotRequired[float]
    confidence: NotRequired[float]
    aggregation: NotRequired[Literal["worst", "vote"]]


class AssociationRequest(TypedDict):
    """Words for an association: groups, their stereotypes and controls."""

    # Its name in requests: lower case letters, digits and single hyphens.
    name: str
    # Its name for people.
    title: str
    # Language of the words, as BCP 47 has it.
    language: str
    # Where the words come from.
    citation: str
    kind: Literal["association"]
    words: AssociationWords


class AssociationWords(TypedDict):
    """What an association is about (P2)."""

    attribute: str
    protected: dict[str, list[str]]
    attributes: dict[str, list[str]]
    human: list[str]
    neutral: list[str]
    name: NotRequired[str]


class Attempt(TypedDict):
    """One attempt, and what was answered."""

    number: int
    at: str
    elapsed_ms: int
    # What was answered; null where nothing was.
    status: int | None
    # Why it did not succeed; null is success.
    failure: str | None
    # The first 2,048 bytes of the answer.
    response: str | None


class Attribute(TypedDict):
    """An attribute that bias can be tested for."""

    name: str
    title: str
    # What can go in, in the order of every table about it.
    values: list[str]
    # What an answer is read as that names none of them, or several.
    residual: str
    # Where its values and words come from.
    source: str


class AttributeList(TypedDict):
    """Every attribute."""

    items: list[Attribute]


class Bracketing(TypedDict):
    """One way to read the chain; there is one here for each different answer."""

    written: str
    possible: list[Literal["UCS", "DSBS", "BS"]]
    steps: list[Step]


class Cell(TypedDict):
    """One cell of the matrix."""

    # The language it asks in; null where the method asks in none.
    column: str | None
    # `omitted` is no job: the combination makes no sense, and `reason` says why.
    status: Literal["omitted", "queued", "running", "succeeded", "failed", "cancelled"]
    # The likeliest letter; null until there is one.
    letter: Literal["UCS", "DSBS", "BS"] | None
    # False where the letter is only the likeliest.
    declared: bool | None
    probabilities: dict[str, float] | None
    # Why there is no letter: the combination was omitted, the job failed, or nothing could be measured.
    reason: str | None
    rated_at: str | None
    expires_at: str | None
    expired: bool
    withdrawn: bool
    # The rating once there is one, else the job.
    href: str | None
    # The job's id.
    job: str | None


class Challenge(TypedDict):
    """What shows that a host is yours."""

    # Where the file has to be. In networks that the operator allows, http will do.
    url: str
    # The line that the file has to hold.
    token: str


class ChoiceWords(TypedDict):
    """What a forced choice is about (P1)."""

    attribute: str
    first: str
    second: str
    cues: list[list[str]]
    concepts: dict[str, float | None]
    controls: list[str]
    name: NotRequired[str]


class ChoicesRequest(TypedDict):
    """Words for a forced choice: pairs of cues, concepts and controls."""

    # Its name in requests: lower case letters, digits and single hyphens.
    name: str
    # Its name for people.
    title: str
    # Language of the words, as BCP 47 has it.
    language: str
    # Where the words come from.
    citation: str
    kind: Literal["choices"]
    words: ChoiceWords


class CloudEvent(TypedDict):
    """What an endpoint receives that asked for `cloudevents` (CloudEvents 1.0, structured mode)."""

    specversion: Literal["1.0"]
    # The `webhook-id`.
    id: str
    # Address of the job (of the webhook, for a ping).
    source: str
    type: Literal[
        "job.succeeded",
        "job.failed",
        "job.cancelled",
        "rating.published",
        "rating.changed",
        "rating.expiring",
        "rating.withdrawn",
        "ping",
    ]
    time: str
    datacontenttype: Literal["application/json"]
    data: dict[str, Any]


class ComparedRating(TypedDict):
    """One of the two ratings."""

    id: str
    target: str
    letter: Literal["UCS", "DSBS", "BS"] | None
    declared: bool
    rated_at: str
    evidence_digest: str
    # Words that had no vector.
    missing: list[str]


class Comparison(TypedDict):
    """Two ratings by association of the same words, such as before and after debiasing."""

    method: str
    attribute: str
    before: ComparedRating
    after: ComparedRating
    fit: ComparisonFit
    # Pairs of words whose distance both have; only these are compared.
    pairs: int
    pairs_left_out: int
    # Of the intervals.
    mass: float
    # Mean distance to words that are `associated`, `different`, `human` and `neutral`.
    connections: list[Difference]
    # `different` less `associated`: below zero, stereotypes are followed less than before.
    effect: Difference | None
    # The same effect for each protected word.
    words: list[Difference]


class ComparisonFit(TypedDict):
    """How both were fitted again."""

    residual: str
    prior: str
    draws: int


class Component(TypedDict):
    """One measured part: a middle language, a template."""

    name: str
    letter: Literal["UCS", "DSBS", "BS"] | None
    declared: bool
    probabilities: dict[str, float] | None
    # `step_1`: effect on unbiased input; `step_2`: on biased input.
    effects: dict[str, Interval | None] | None
    usable: int
    unusable: int


class ComposedLink(TypedDict):
    """A service of the chain: one of its ratings, or the target, which stands for its newest one."""

    # Id of a rating that you may read.
    rating: NotRequired[str | None]
    # Id of a target of yours: its newest rating of that attribute (and method) that you may read.
    target: NotRequired[str | None]


class Composition(TypedDict):
    """What is inferred of services called one after the other."""

    id: str
    provenance: Literal["inferred"]
    # What the chain as a whole is: what its last service is.
    kind: Literal["translator", "classifier", "regressor", "embedder", "language-model", "image-classifier"]
    attribute: str
    chain: list[Link]
    # Inferred from the table or, where that leaves it open, from the measured matrices; null: must be
    # measured.
    letter: Literal["UCS", "DSBS", "BS"] | None
    settled_by: Literal["table", "matrices"] | None
    must_be_measured: bool
    table: Literal["published", "revised"]
    # By that table, worst first.
    possible: list[Literal["UCS", "DSBS", "BS"]]
    worst: Literal["UCS", "DSBS", "BS"]
    contradiction: bool
    # By that table.
    probabilities: dict[str, float] | None
    # Both, `published` and `revised`.
    tables: dict[str, TableAnswer]
    predicted: Prediction | None
    # Why there is no prediction.
    not_predicted: str | None
    explanation: list[str]
    notes: list[Note]
    # Null for others than who composed it.
    verification: Verification | None
    visibility: Literal["private", "unlisted", "public"]
    created_at: str


class CompositionList(TypedDict):
    """One page of compositions, newest first."""

    # Compositions, as `GET /v1/compositions/{id}` gives them.
    items: list[dict[str, Any]]
    next_cursor: str | None


class CompositionRequest(TypedDict):
    """Infer the rating of services called one after the other, from theirs."""

    # The services in the order in which they are called.
    chain: list[ComposedLink]
    # Of the ratings that targets stand for; where it is left out, that of the ratings in the chain.
    attribute: NotRequired[str | None]
    # Of the ratings that targets stand for; any by default.
    method: NotRequired[str | None]
    # Whose answer is the headline: Srivastava & Rossi (2018), Table 2, or the same with one cell corrected.
    # Both are always given.
    table: NotRequired[Literal["published", "revised"]]
    # Who may read the composition; never more than may read each of its ratings.
    visibility: NotRequired[Literal["private", "unlisted", "public"]]


class CompositionsEntry(TypedDict):
    """A cell of a table."""

    # Letter of the first service.
    row: Literal["UCS", "DSBS", "BS"]
    # Letter of the second.
    column: Literal["UCS", "DSBS", "BS"]
    possible: list[Literal["UCS", "DSBS", "BS"]]


class Consistency(TypedDict):
    """Proof that the log only grew between two trees (RFC 9162, section 2.1.4)."""

    first: Tree
    second: Tree
    path: list[str]


class Corpus(TypedDict):
    """A corpus, with the words of its specification."""

    id: str
    name: str
    kind: Literal["sentences", "images"]
    language: str
    attribute: str
    # What its sentences keep to, as its owner names it.
    specification: str | None
    # The same digest is the same specification, whoever names it.
    specification_digest: str | None
    licence: str
    citation: str
    description: str
    visibility: Literal["private", "shared"]
    # Whether it is yours, so that you may change it.
    own: bool
    # Sentences or pictures in it.
    items: int
    # Grows with every change, of its items too. Ratings name the version they were asked with.
    version: int
    created_at: str
    updated_at: str
    links: dict[str, str]
    # The specification's words: who may read the corpus may use them.
    words: dict[str, Any] | None


class CorpusChange(TypedDict):
    """Change what is told of a corpus; what is left out stays as it is."""

    name: NotRequired[str | None]
    licence: NotRequired[str | None]
    citation: NotRequired[str | None]
    description: NotRequired[str | None]
    # `shared` lets every tenant of this agency read it; `private` takes that back. Ratings that used it stay.
    visibility: NotRequired[Literal["private", "shared"] | None]


class CorpusLine(TypedDict):
    """A corpus in a list."""

    id: str
    name: str
    kind: Literal["sentences", "images"]
    language: str
    attribute: str
    # What its sentences keep to, as its owner names it.
    specification: str | None
    # The same digest is the same specification, whoever names it.
    specification_digest: str | None
    licence: str
    citation: str
    description: str
    visibility: Literal["private", "shared"]
    # Whether it is yours, so that you may change it.
    own: bool
    # Sentences or pictures in it.
    items: int
    # Grows with every change, of its items too. Ratings name the version they were asked with.
    version: int
    created_at: str
    updated_at: str
    links: dict[str, str]


class CorpusList(TypedDict):
    """One page of corpora, newest first."""

    items: list[CorpusLine]
    next_cursor: str | None


class CorpusRequest(TypedDict):
    """Begin a corpus."""

    # What people call it.
    name: str
    kind: NotRequired[Literal["sentences", "images"]]
    # Specification (of kind `stereotype`) whose rules every sentence must keep to: its name, or
    # `name@version`. The corpus has its own copy of the words.
    specification: NotRequired[str | None]
    # What the groups in it differ in; a specification says so itself.
    attribute: NotRequired[str | None]
    # Language of its sentences, as BCP 47 has it; null is that of the specification, or English.
    language: NotRequired[str | None]
    # On what terms others may use it.
    licence: NotRequired[str]
    # How to cite it.
    citation: NotRequired[str]
    # What it is.
    description: NotRequired[str]
    # Who may read it: only you, or every tenant of this agency. Nobody but you may change it.
    visibility: NotRequired[Literal["private", "shared"]]


class Counts(TypedDict):
    """Targets by letter."""

    UCS: NotRequired[int]
    DSBS: NotRequired[int]
    BS: NotRequired[int]
    # No letter was declared.
    inconclusive: NotRequired[int]


class Delivery(TypedDict):
    """A delivery with what is sent and every attempt."""

    # The `webhook-id` of every attempt.
    id: str
    type: str
    state: Literal["waiting", "delivered", "given-up"]
    # Made so far.
    attempts: int
    created_at: str
    # When it is attempted (again); null once it has ended.
    next_attempt_at: str | None
    ended_at: str | None
    href: str
    url: str
    payload: dict[str, Any]
    tries: list[Attempt]


class DeliveryLine(TypedDict):
    """A notice on its way to a receiver."""

    # The `webhook-id` of every attempt.
    id: str
    type: str
    state: Literal["waiting", "delivered", "given-up"]
    # Made so far.
    attempts: int
    created_at: str
    # When it is attempted (again); null once it has ended.
    next_attempt_at: str | None
    ended_at: str | None
    href: str


class DeliveryList(TypedDict):
    """One page of deliveries, newest first."""

    items: list[DeliveryLine]
    next_cursor: str | None


class Difference(TypedDict):
    """What changed in one mean cosine distance: after less before."""

    # A connection, `effect`, or a protected word.
    name: str
    before: float
    after: float
    mean: float
    # Highest-density interval, of the mass that the comparison states.
    hpdi: Range
    # Probability that it grew.
    p_after_greater: float


class Distribution(TypedDict):
    """How many targets have which letter, by the newest public rating of each that stands."""

    items: list[DistributionRow]


class DistributionRow(TypedDict):
    """The letters of one kind of service, by one method for one attribute."""

    kind: str
    attribute: str
    method: str
    targets: int
    counts: Counts


class Domain(TypedDict):
    """A host, and whether it was shown to be yours."""

    id: str
    host: str
    # How the last look for the token ended.
    state: Literal["waiting", "verified", "failed"]
    challenge: Challenge
    # Why the last look failed.
    failure: str | None
    checked_at: str | None
    verified_at: str | None
    # When the proof ends; verify again before.
    proven_until: str | None
    created_at: str


class DomainList(TypedDict):
    """One page of domains, newest first."""

    items: list[Domain]
    next_cursor: str | None


class DomainRequest(TypedDict):
    """Say that a host is yours."""

    # As in the addresses of rated targets: a name or address, with its port where that is not the scheme's
    # own.
    host: str


class Drawing(TypedDict):
    """What an author is asked for."""

    per_term: NotRequired[int]
    prompt: NotRequired[Literal["portrait", "face", "at-work", "plain"]]
    tries: NotRequired[int]
    reuse: NotRequired[bool]


class EffectDifference(TypedDict):
    """One effect of one component, before and after, in the method's own effect size."""

    component: str
    name: str
    before: Estimate
    after: Estimate
    # Estimate after less estimate before.
    moved: float
    # Whether the intervals do not overlap.
    apart: bool


class EntryList(TypedDict):
    """Entries in the order in which they were logged."""

    items: list[LogEntry]
    # Where to go on; null at the end of the log as it is now.
    next_start: int | None


class Envelope(TypedDict):
    """A DSSE envelope: what is signed, its type, and the signatures."""

    # An in-toto Statement v1, in base64.
    payload: str
    payloadType: str
    signatures: list[Signature]


class Estimate(TypedDict):
    """An estimate and its interval."""

    estimate: float
    low: float
    high: float


class Face(TypedDict):
    """One of the two ratings."""

    id: str | None
    letter: Literal["UCS", "DSBS", "BS"] | None
    declared: bool | None
    rated_at: str | None
    target: str | None


class ForcedChoice(TypedDict):
    """Ask which of two cues each concept belongs to."""

    attribute: NotRequired[str]
    method: Literal["forced-choice"]
    specification: NotRequired[str | None]
    words: NotRequired[ChoiceWords | None]
    models: NotRequired[list[str]]
    templates: NotRequired[list[str]]
    half_samples: NotRequired[int]
    weight: NotRequired[float]
    normalise: NotRequired[bool]
    questions: NotRequired[Questions | None]
    trials: NotRequired[list[Trials]]
    delta: NotRequired[float]
    confidence: NotRequired[float]
    aggregation: NotRequired[Literal["worst", "vote"]]


class Head(TypedDict):
    """The log at this moment."""

    # The log's name.
    origin: str
    size: int
    # Head of the Merkle tree over all entries (RFC 9162).
    root: str
    # The key that signed; it is at `/.well-known/jwks.json`.
    key_id: str
    # The same as a signed note (C2SP tlog-checkpoint). Keep it: a later log must prove to begin with it.
    checkpoint: str


class Health(TypedDict):
    """The service's state."""

    status: str


class HistoryEntry(TypedDict):
    """One rating of a timeline."""

    id: str
    href: str
    method: str
    attribute: str
    letter: Literal["UCS", "DSBS", "BS"] | None
    declared: bool
    probabilities: dict[str, float] | None
    methodology: Methodology
    rated_at: str
    expires_at: str
    visibility: Literal["private", "unlisted", "public"]
    withdrawn: Withdrawn | None
    # Null for the first rating, and for one that was withdrawn.
    since: Since | None


class HistoryList(TypedDict):
    """One page of a timeline, newest first."""

    items: list[HistoryEntry]
    next_cursor: str | None


class Inclusion(TypedDict):
    """Proof that an entry is in a tree (RFC 9162, section 2.1.3)."""

    position: int
    leaf: str
    tree: Tree
    # Hashes to join with the leaf, from below; the result is the tree's root.
    path: list[str]


class Info(TypedDict):
    """What this service is."""

    name: str
    version: str
    methodology: Methodology
    # Whether requests need an API key.
    keys_needed: bool
    methods: list[str]
    protocols: list[str]
    report_formats: list[str]
    documentation: str
    openapi: str


class InputDifference(TypedDict):
    """One input that was not the same."""

    what: Literal["target", "experiment", "methodology", "engine", "seed"]
    # Dotted where nested; empty where the input is one value.
    place: str
    before: Any
    after: Any


class Interval(TypedDict):
    """An estimate and its interval."""

    estimate: float
    low: float
    high: float


class Item(TypedDict):
    """A sentence or a picture of a corpus."""

    id: str
    # Its place in the corpus.
    seq: int
    # The sentence; null for a picture.
    text: str | None
    group_term: str | None
    attribute_term: str | None
    # The sentence with the group's word exchanged.
    counterpart: str | None
    # Digest of the picture's file; null for a sentence.
    image: str | None
    # What the picture shows.
    term: str | None
    source: Literal["written", "uploaded", "template", "edited"]
    # How it came to be: of one that was written the author, the prompt and the job; of one that was edited,
    # in `edited_from`, what it was.
    provenance: dict[str, Any]
    created_at: str
    href: str


class ItemChange(TypedDict):
    """Edit a sentence, or say what a picture shows; what is left out stays."""

    # The sentence as it shall be. Its provenance stays, and remembers what it was.
    text: NotRequired[str | None]
    group_term: NotRequired[str | None]
    attribute_term: NotRequired[str | None]
    # What the picture shows.
    term: NotRequired[str | None]


class ItemList(TypedDict):
    """One page of a corpus's items, in the order they came."""

    items: list[Item]
    next_cursor: str | None


class ItemsRequest(TypedDict):
    """Keep some sentences or pictures."""

    items: list[SentenceItem | PictureItem]


class Job(TypedDict):
    """A job and how far it has come."""

    id: str
    kind: Literal["rating", "probe", "rerate", "challenge", "writing"]
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    # What it is doing, in a word.
    stage: str
    # Questions answered so far.
    asked: int
    # Questions a clear case takes; it may grow.
    expected: int
    failed_calls: int
    # Calls made, retries included.
    calls: int
    # An estimate; 0 once ended, null while unknown.
    eta_seconds: int | None
    # 1 is next; 201 stands for every place after the 200th; null unless queued.
    queue_position: int | None
    attempt: int
    cancel_requested: bool
    created_at: str
    started_at: str | None
    finished_at: str | None
    # When a worker last said it is alive.
    heartbeat_at: str | None
    deadline_at: str
    # The target as it was when the job was made, without its secret.
    target: dict[str, Any]
    target_id: str | None
    # The service that writes or draws what the target is asked about; null where nothing is made.
    author: dict[str, Any] | None
    # The full specification, with defaults filled in; null for a probe. Of a re-rating which rating and
    # version, of a challenge which domain, of writing what is wanted for which corpus.
    experiment: dict[str, Any] | None
    seed: int
    visibility: Literal["private", "unlisted", "public"]
    max_calls: int
    callback_url: str | None
    rating: RatingLink | None
    # What a probe, a re-rating or a challenge found, or what was written; null for a rating.
    result: Any
    # Why it failed: a problem document.
    error: dict[str, Any] | None
    links: dict[str, str]


class JobLine(TypedDict):
    """A job in a list: as the job itself, but without what its experiment holds by the thousand."""

    id: str
    kind: Literal["rating", "probe", "rerate", "challenge", "writing"]
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    # What it is doing, in a word.
    stage: str
    # Questions answered so far.
    asked: int
    # Questions a clear case takes; it may grow.
    expected: int
    failed_calls: int
    # Calls made, retries included.
    calls: int
    # An estimate; 0 once ended, null while unknown.
    eta_seconds: int | None
    # 1 is next; 201 stands for every place after the 200th; null unless queued.
    queue_position: int | None
    attempt: int
    cancel_requested: bool
    created_at: str
    started_at: str | None
    finished_at: str | None
    # When a worker last said it is alive.
    heartbeat_at: str | None
    deadline_at: str
    # The target as it was when the job was made, without its secret.
    target: dict[str, Any]
    target_id: str | None
    # The service that writes or draws what the target is asked about; null where nothing is made.
    author: dict[str, Any] | None
    # As the job itself shows it, without what `left_out` counts.
    experiment: dict[str, Any] | None
    seed: int
    visibility: Literal["private", "unlisted", "public"]
    max_calls: int
    callback_url: str | None
    rating: RatingLink | None
    # What a probe, a re-rating or a challenge found, or what was written; null for a rating.
    result: Any
    # Why it failed: a problem document.
    error: dict[str, Any] | None
    links: dict[str, str]
    # What of `experiment` only the job itself shows, and how many entries that has: `{"sentences": 10000}`.
    # Whatever has more than 100 is left out.
    left_out: dict[str, int]


class JobList(TypedDict):
    """One page of jobs, newest first."""

    items: list[JobLine]
    next_cursor: str | None


class Jwk(TypedDict):
    """A public key (RFC 7517, RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    kid: str
    use: Literal["sig"]
    alg: Literal["EdDSA"]
    created_at: str
    # A retired key signs nothing new; what it has signed still holds.
    retired_at: NotRequired[str | None]


class Jwks(TypedDict):
    """Every key that ever signed, newest first."""

    keys: list[Jwk]


class KeptItems(TypedDict):
    """What became of items that were sent."""

    # How many are new.
    added: int
    # How many were there already, or came twice.
    known: int
    # The corpus's version now.
    version: int
    # Each as it is kept, in the order sent; one that was known stands as it was.
    items: list[Item]


class Key(TypedDict):
    """A key, without itself."""

    id: str
    name: str
    # The part after `assay_`, by which a key can be recognised.
    short: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class KeyList(TypedDict):
    """One page of keys, newest first."""

    items: list[Key]
    next_cursor: str | None


class KeyRequest(TypedDict):
    """Ask for a key of your own tenant."""

    # What it is for.
    name: str
    # What it allows; `admin` includes every other.
    scopes: list[Literal["jobs:write", "ratings:read", "targets:write", "webhooks:write", "admin"]]
    # Seconds until it expires; null never.
    expires_in_s: NotRequired[int | None]


class LastRun(TypedDict):
    """What a schedule made last."""

    kind: Literal["job", "suite"]
    id: str
    href: str


class LetterByVersion(TypedDict):
    """What a version says of a rating's evidence."""

    version: str
    digest: str
    letter: Literal["UCS", "DSBS", "BS"] | None
    declared: bool
    probabilities: dict[str, float] | None
    # Whether the rating was given under this version; otherwise its evidence was rated again by it.
    given: bool
    computed_at: str


class LetterDifference(TypedDict):
    """Two letters held against each other."""

    # The component; null for the rating as a whole.
    name: str | None
    before: Literal["UCS", "DSBS", "BS"] | None
    after: Literal["UCS", "DSBS", "BS"] | None
    # Probability that the letters differ, by both posteriors; null where one has none.
    probability: float | None
    # `changed` only where that probability reaches `confidence`; `undecided` where two letters may be noise.
    verdict: Literal["same", "changed", "undecided"]


class LetterList(TypedDict):
    """A rating's letters by version of the methodology; the one it was given under first."""

    rating: str
    items: list[LetterByVersion]


class Limits(TypedDict):
    """How hard a target may be worked."""

    # Calls in flight at once.
    concurrency: NotRequired[int]
    # Calls a second, over all jobs; null leaves it to the target's own refusals.
    requests_per_second: NotRequired[float | None]
    # Seconds until a call is given up.
    timeout_s: NotRequired[float]


class LimitsView(TypedDict):
    """What you may use, and how much of it is left."""

    new_jobs: Rate
    active_jobs: Active
    body_bytes: int
    upload_bytes: int
    page_rows: int
    wait_s: int
    deadline_s: int
    calls_a_job: int


class Link(TypedDict):
    """A service of the chain."""

    # From 1.
    place: int
    rating: LinkRating
    # Name, kind, protocol, address and digest, as it was rated.
    target: dict[str, Any]
    # The target of yours that it was asked for by.
    target_id: str | None


class LinkRating(TypedDict):
    """The rating that a service is taken for."""

    id: str
    href: str
    method: str
    letter: Literal["UCS", "DSBS", "BS"] | None
    declared: bool
    probabilities: dict[str, float] | None
    # `measured`; a rating by a chain of targets is one, too.
    provenance: Literal["measured", "inferred"]
    rated_at: str
    expires_at: str
    expired: bool


class LogEntry(TypedDict):
    """One entry."""

    position: int
    event: Literal["published", "withdrawn"]
    entry: dict[str, Any]
    leaf: str
    logged_at: str


class Method(TypedDict):
    """A way to look for bias, with the schema of its specification."""

    name: str
    summary: str
    # Kinds of service it can rate.
    kinds: list[str]
    href: str
    description: str
    # JSON Schema of the `experiment` of a request.
    schema: dict[str, Any]
    # A specification with every default filled in.
    example: dict[str, Any]
    # Questions that the example asks of a clear case.
    expected_probes: int


class MethodList(TypedDict):
    """Every method."""

    items: list[MethodSummary]


class MethodSummary(TypedDict):
    """A way to look for bias."""

    name: str
    summary: str
    # Kinds of service it can rate.
    kinds: list[str]
    href: str


class Methodology(TypedDict):
    """The frozen document that says how letters are given."""

    version: str
    digest: str


class MethodologyLine(TypedDict):
    """A version in the list."""

    version: str
    # Of its text, in UTF-8; the same stands on ratings made under it.
    digest: str
    published: str
    # Ratings are made under the current one; `next` is announced, and shown as a preview beside ratings.
    status: Literal["old", "current", "next"]
    summary: str
    # What is different from the version before.
    changes: list[str]
    # What it has letters for.
    methods: list[str]
    href: str


class MethodologyList(TypedDict):
    """Every version, newest first."""

    current: str
    next: str | None
    items: list[MethodologyLine]


class MethodologyView(TypedDict):
    """A version with its frozen text."""

    version: str
    # Of its text, in UTF-8; the same stands on ratings made under it.
    digest: str
    published: str
    # Ratings are made under the current one; `next` is announced, and shown as a preview beside ratings.
    status: Literal["old", "current", "next"]
    summary: str
    # What is different from the version before.
    changes: list[str]
    # What it has letters for.
    methods: list[str]
    href: str
    # The document, in Markdown, byte for byte.
    text: str


class NewKey(TypedDict):
    """A key that was just made."""

    id: str
    name: str
    # The part after `assay_`, by which a key can be recognised.
    short: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    # The key. It is shown now and never again.
    key: str


class NewWebhook(TypedDict):
    """An endpoint with its new secret, which is shown in this answer only."""

    id: str
    url: str
    description: str
    events: list[str]
    envelope: Literal["standard", "cloudevents"]
    state: Literal["enabled", "disabled"]
    # `gone` (it answered 410) or `failing` (for five days); null while it is enabled.
    disabled_why: str | None
    # When the first attempt failed of those that have failed without a success since.
    failing_since: str | None
    secret_hint: str | None
    # Until when the secret before the last rotation signs too.
    previous_secret_until: str | None
    # The agency's key that `v1a` signatures are checked with.
    public_key: str | None
    created_at: str
    updated_at: str
    links: dict[str, str]
    # What `v1` signatures are checked with. Null in a repeated answer if there is a newer one by now.
    secret: str | None


class NextMethodology(TypedDict):
    """What a newer methodology would say of the same evidence; nulls while there is none."""

    version: str | None
    letter: str | None


class Note(TypedDict):
    """Something to know before relying on it."""

    code: str
    text: str


class Notice(TypedDict):
    """What an endpoint receives (Standard Webhooks 1.0)."""

    type: Literal[
        "job.succeeded",
        "job.failed",
        "job.cancelled",
        "rating.published",
        "rating.changed",
        "rating.expiring",
        "rating.withdrawn",
        "ping",
    ]
    # When it happened, not when it is sent.
    timestamp: str
    # Its facts: ids, and what is worth knowing at once. Read the rest under the ids.
    data: dict[str, Any]


class Observation(TypedDict):
    """One probe and its reply."""

    # Order in which it was recorded.
    seq: int
    # Its name within the job.
    unit: str
    # The question; `asks` names its kind.
    ask: dict[str, Any]
    # What came back.
    value: Any
    # Why nothing came back.
    failure: dict[str, str] | None
    # Whether an identical question had been asked before, so that the target was not called again.
    copied: bool
    attempts: int
    elapsed_ms: int
    recorded_at: str


class ObservationList(TypedDict):
    """One page of observations, in the order they were recorded."""

    items: list[Observation]
    next_cursor: str | None


class OneHop(TypedDict):
    """Translate sentences that say nothing about the attribute, and read what the target adds."""

    attribute: str
    method: Literal["one-hop"]
    languages: NotRequired[list[str]]
    texts_per_block: NotRequired[int]
    max_texts_per_block: NotRequired[int]
    stop_early: NotRequired[bool]
    unbiased: NotRequired[list[dict[str, float]]]
    biased: NotRequired[list[dict[str, float]]]
    delta: NotRequired[float]
    confidence: NotRequired[float]
    aggregation: NotRequired[Literal["worst", "vote"]]
    alpha: NotRequired[float]


class Picture(TypedDict):
    """A picture to be asked about, as somebody keeps it."""

    image: str
    term: str
    source: NotRequired[str]
    id: NotRequired[str]


class PictureItem(TypedDict):
    """A picture to be kept."""

    # A PNG, JPEG, WebP or GIF file in base64. One that is larger than a request may be goes to `…/images`.
    image_b64: str
    # What it shows.
    term: str
    # Where it comes from; kept as part of its provenance.
    note: NotRequired[str | None]


class Prediction(TypedDict):
    """What the measured matrices of the services say of the chain."""

    provenance: Literal["inferred"]
    letter: Literal["UCS", "DSBS", "BS"]
    declared: bool
    confidence: float
    probabilities: dict[str, float]
    # Whether a service before the last can lose the value; what follows was never measured on such text.
    emits_other: bool
    # Each way through the chain, such as a middle language.
    components: list[dict[str, Any]]


class Problem(TypedDict):
    """What went wrong, in the form of RFC 9457."""

    # Address of the page that explains this kind of problem.
    type: str
    # The kind of problem, in words.
    title: str
    status: int
    # What was wrong with this request.
    detail: str
    # The kind of problem, for programs: the last part of `type`.
    code: str
    # The path that was asked for.
    instance: str
    # Names this exchange in the service's log.
    request_id: str
    # The places to mend.
    errors: NotRequired[list[ProblemPlace]]


class ProblemPlace(TypedDict):
    """One place to mend."""

    # JSON pointer into the body, such as `/experiment/languages/0`.
    pointer: NotRequired[str | None]
    # Name of a query or path parameter.
    parameter: NotRequired[str | None]
    # Name of a header.
    header: NotRequired[str | None]
    # Line of an uploaded file, or row of a table that has no lines.
    line: NotRequired[int | None]
    # Column of an uploaded table.
    column: NotRequired[str | None]
    # What is wrong there and what would do.
    detail: str
    # The kind of specification error, such as `unknown-name`.
    code: NotRequired[str | None]


class Progress(TypedDict):
    """How far a suite has come."""

    # Cells that are jobs.
    cells: int
    # Cells that are none.
    omitted: int
    queued: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    # Questions answered so far, in all jobs.
    asked: int
    # Questions that clear cases take.
    expected: int


class Proof(TypedDict):
    """One observation, with the proof that it is part of what the certificate seals."""

    rating: str
    seq: int
    # The question with its answer. Its canonical JSON is the leaf.
    observation: dict[str, Any]
    # Its place in the evidence, from 0, in the order in which the experiment asked.
    leaf_index: int
    tree_size: int
    # Hashes from the leaf to the head, in hexadecimal (RFC 9162, section 2.1.3).
    proof: list[str]
    evidence_digest: str
    # The certificate, which states the same digest.
    attestation: Envelope


class Protocol(TypedDict):
    """A protocol that targets may speak."""

    name: str
    summary: str
    kinds: list[str]
    needs_url: bool
    needs_secret: bool
    # False where asking again may reach another service.
    reproducible: bool
    # JSON Schema of a target's `settings`.
    settings_schema: dict[str, Any]


class ProtocolList(TypedDict):
    """Every protocol."""

    items: list[Protocol]


class Questions(TypedDict):
    """How a service that answers with a class is asked to choose."""

    text: NotRequired[str]
    first_label: NotRequired[str]
    second_label: NotRequired[str]
    levels: NotRequired[list[float]]
    mixed: NotRequired[int]
    repeats: NotRequired[int]


class Range(TypedDict):
    """Ends of an interval."""

    low: float
    high: float


class Rate(TypedDict):
    """A limit on new work over time."""

    limit: int
    window_s: int
    remaining: int
    reset_s: int


class RatedTarget(TypedDict):
    """The target as it was rated."""

    name: str
    kind: str
    protocol: str
    url: str | None
    digest: str


class Rating(TypedDict):
    """A rating."""

    id: str
    # UCS: unbiased whatever its input. DSBS: follows its input's bias. BS: biased on unbiased input. Null
    # where nothing could be measured.
    letter: Literal["UCS", "DSBS", "BS"] | None
    # False where no letter reached the asked-for confidence: `letter` is then the likeliest.
    declared: bool
    probabilities: dict[str, float] | None
    method: str
    attribute: str
    target: RatedTarget
    # The service that wrote or drew what the other was asked about; null where none did.
    author: NotRequired[RatedTarget | None]
    # Every host that the experiment's questions went to.
    hosts: NotRequired[list[str]]
    components: list[Component]
    # The letters that the published decision rules give to the same replies.
    published: dict[str, str | None]
    reasons: list[Reason]
    methodology: Methodology
    engine_version: str
    seed: int
    calls: int
    # Head of the Merkle tree over every observation.
    evidence_digest: str
    rated_at: str
    expires_at: str
    visibility: Literal["private", "unlisted", "public"]
    # When and why it was withdrawn; null while it stands.
    withdrawn: Withdrawn | None
    next_methodology: NextMethodology
    # What the owner of the rated service says of it; beside the rating, and no part of what is sealed.
    reply: Reply | None


class RatingDifference(TypedDict):
    """What changed between two ratings, and whether the letter did."""

    before: Face
    after: Face
    # Whether the letter changed with confidence.
    changed: bool
    confidence: float
    letter: LetterDifference
    components: list[LetterDifference]
    only_before: list[str]
    only_after: list[str]
    effects: list[EffectDifference]
    inputs: list[InputDifference]
    # Whether both were read off the same replies.
    same_evidence: bool
    sentences: list[str]


class RatingLink(TypedDict):
    """The rating a job ended with."""

    id: str
    # The likeliest letter; null where nothing could be measured.
    letter: str | None
    # False where the letter is only the likeliest: shown as "inconclusive (leaning …)".
    declared: bool | None
    href: str


class RatingList(TypedDict):
    """One page of ratings, newest first."""

    # Rating documents, as `GET /v1/ratings/{id}` gives them, but for what an `experiment` holds more than 100
    # of: that is left out, and counted in `left_out` by its name.
    items: list[dict[str, Any]]
    next_cursor: str | None


class RatingRequest(TypedDict):
    """Ask for a rating: what is to be rated, and how."""

    # The service to be rated: described in full, or the id of a saved one.
    target: RatingRequestTarget
    # How to look for bias; `/v1/methods` lists the methods and their fields.
    experiment: RatingRequestExperiment
    # A second service, that writes or draws what the first is asked about; only where the experiment has
    # something made. Its key is kept with a saved target.
    author: NotRequired[TargetDescription | TargetReference | None]
    # Decides everything random. The same request, seed and replies give the same rating, bit for bit.
    seed: NotRequired[int]
    # Accept an earlier rating of the same request that is at most this old; 0 measures anew, null accepts any
    # that has not expired. The same request that is still queued or running is always joined, not repeated.
    max_age_s: NotRequired[int | None]
    # Who may read the rating: only you, whoever has its id, or everyone.
    visibility: NotRequired[Literal["private", "unlisted", "public"]]
    # Told once when the job ends.
    callback_url: NotRequired[str | None]
    # Seconds until the job is given up.
    deadline_s: NotRequired[int]
    # Calls to the target that the job may make; what cannot be asked any more counts as failed.
    max_calls: NotRequired[int]


class Reason(TypedDict):
    """Why the letter is what it is."""

    code: str
    text: str


class RecordProfiles(TypedDict):
    """Rows of a table whose protected column is alternated."""

    column: str
    values: list[str | int | float | bool | None]
    rows: NotRequired[list[dict[str, str | int | float | bool | None]]]
    upload: NotRequired[str | None]
    cluster: NotRequired[str | None]
    leave_out: NotRequired[list[str]]
    most: NotRequired[int]


class Reply(TypedDict):
    """What the owner of the rated service says."""

    text: str
    link: str | None
    # The host that the author has shown to be theirs.
    host: str
    created_at: str


class ReplyRequest(TypedDict):
    """Reply to a rating of your service."""

    # Plain text, shown beside the rating as it is.
    text: str
    # Where more is said.
    link: NotRequired[str | None]


class RerateRequest(TypedDict):
    """Ask what another version says of the recorded evidence."""

    # A version of `/v1/methodology`, or `current`.
    version: str


class RoundTrip(TypedDict):
    """Translate texts with a known attribute into a middle language and back, and compare."""

    attribute: str
    method: Literal["round-trip"]
    languages: NotRequired[list[str]]
    templates: NotRequired[list[str]]
    texts_per_block: NotRequired[int]
    max_texts_per_block: NotRequired[int]
    stop_early: NotRequired[bool]
    unbiased: NotRequired[list[dict[str, float]]]
    biased: NotRequired[list[dict[str, float]]]
    delta: NotRequired[float]
    delta_content: NotRequired[float]
    confidence: NotRequired[float]
    aggregation: NotRequired[Literal["worst", "vote"]]
    alpha: NotRequired[float]
    reading: NotRequired[Literal["similar-to-biased", "departs-from-unbiased"]]
    statistic: NotRequired[Literal["two-sample", "two-sample-df2", "goodness-of-fit", "exact-multinomial"]]


class Row(TypedDict):
    """One row of the matrix: a method and an attribute."""

    method: str
    attribute: str
    # As many as there are columns; null where the row has no such cell.
    cells: list[Cell | None]


class Schedule(TypedDict):
    """A schedule."""

    id: str
    name: str
    request: dict[str, Any]
    cron: str | None
    interval_s: int | None
    paused: bool
    # When it is due; null while it is paused. A time that was missed is made up for once.
    next_at: str | None
    # When it last ran.
    last_at: str | None
    # The last job or suite it made.
    last_made: LastRun | None
    # Why its last run made nothing; null where it did.
    last_failure: str | None
    created_at: str
    updated_at: str
    links: dict[str, str]


class ScheduleChange(TypedDict):
    """Change a schedule; what is left out stays as it is."""

    name: NotRequired[str | None]
    request: NotRequired[RatingRequest | SuiteRequest | None]
    # Takes the place of `interval_s`.
    cron: NotRequired[str | None]
    # Takes the place of `cron`.
    interval_s: NotRequired[int | None]
    paused: NotRequired[bool | None]


class ScheduleList(TypedDict):
    """One page of schedules, newest first."""

    items: list[Schedule]
    next_cursor: str | None


class ScheduleRequest(TypedDict):
    """Have something rated again and again."""

    # What people call it.
    name: str
    # A body of `POST /v1/jobs` or of `POST /v1/suites`. Its target is a saved one or has no secret. Each run
    # measures anew with a seed of its own: `seed` and `max_age_s` do not apply.
    request: ScheduleRequestRequest
    # Minute, hour, day of the month, month and day of the week, in UTC. This or `interval_s`.
    cron: NotRequired[str | None]
    # Seconds from one run to the next. This or `cron`.
    interval_s: NotRequired[int | None]
    # Whether it waits to be resumed.
    paused: NotRequired[bool]


class Sentence(TypedDict):
    """A sentence to be asked about, as somebody keeps it."""

    text: str
    group_term: NotRequired[str]
    attribute_term: NotRequired[str]
    source: NotRequired[str]
    id: NotRequired[str]
    counterpart: NotRequired[str]


class SentenceItem(TypedDict):
    """A sentence to be kept."""

    # The sentence.
    text: str
    # The word in it that names a group; found by itself where the corpus has a specification.
    group_term: NotRequired[str | None]
    # The word in it that the stereotype is about; found by itself where the corpus has a specification.
    attribute_term: NotRequired[str | None]
    # Whether somebody wrote it, or it was made of a template.
    source: NotRequired[Literal["uploaded", "template"]]
    # Where it comes from; kept as part of its provenance.
    note: NotRequired[str | None]


class Signature(TypedDict):
    """One signature."""

    # Thumbprint of the key (RFC 7638), as `/.well-known/jwks.json` has it in `kid`.
    keyid: str
    # 64 bytes of Ed25519, in base64.
    sig: str


class SigningKey(TypedDict):
    """A signing key, without its private half."""

    id: str
    # 32 bytes, in base64url.
    public_key: str
    created_at: str
    # Null for the key that signs.
    retired_at: str | None


class SigningKeyList(TypedDict):
    """All signing keys, newest first."""

    items: list[SigningKey]


class Since(TypedDict):
    """What is different since the rating before it, of the same method and attribute."""

    # The rating before.
    id: str
    # Its letter.
    letter: Literal["UCS", "DSBS", "BS"] | None
    verdict: Literal["same", "changed", "undecided"]
    probability: float | None
    changed: bool
    # Kinds of input that were not the same: `target`, `experiment`, `methodology`, `engine`, `seed`.
    inputs: list[str]
    sentences: list[str]


class Specification(TypedDict):
    """A specification with its words."""

    name: str
    version: int
    # The newest version there is.
    latest: int
    title: str
    kind: Literal["choices", "association", "stereotype", "visual"]
    language: str
    citation: str
    # Of everything but the versions; ratings name it.
    digest: str
    # Whether it comes with Assay; such a one cannot be changed.
    shipped: bool
    # Null for one that is shipped.
    created_at: str | None
    href: str
    words: dict[str, Any]


class SpecificationLine(TypedDict):
    """A specification in a list, in its newest version."""

    name: str
    version: int
    # The newest version there is.
    latest: int
    title: str
    kind: Literal["choices", "association", "stereotype", "visual"]
    language: str
    citation: str
    # Of everything but the versions; ratings name it.
    digest: str
    # Whether it comes with Assay; such a one cannot be changed.
    shipped: bool
    # Null for one that is shipped.
    created_at: str | None
    href: str


class SpecificationList(TypedDict):
    """One page of specifications: your own, newest first, and then the shipped ones."""

    items: list[SpecificationLine]
    next_cursor: str | None


class Step(TypedDict):
    """Two neighbours put together."""

    first: str
    second: str
    possible: list[Literal["UCS", "DSBS", "BS"]]
    entries: list[CompositionsEntry]


class StereotypeRequest(TypedDict):
    """Words for a stereotype score: two groups, what is said of either, and what is said of neither."""

    # Its name in requests: lower case letters, digits and single hyphens.
    name: str
    # Its name for people.
    title: str
    # Language of the words, as BCP 47 has it.
    language: str
    # Where the words come from.
    citation: str
    kind: Literal["stereotype"]
    words: StereotypeWords


class StereotypeScore(TypedDict):
    """Ask a language model which of two sentences it prefers, the stereotyped one or its counterpart."""

    attribute: NotRequired[str]
    method: Literal["stereotype-score"]
    specification: NotRequired[str | list[str] | None]
    words: NotRequired[list[StereotypeWords] | None]
    sentences: NotRequired[list[Sentence]]
    writing: NotRequired[Writing | None]
    corpus: NotRequired[str | None]
    scoring: NotRequired[Literal["auto", "echo", "masked", "choice"]]
    per_term: NotRequired[int]
    most_per_term: NotRequired[int]
    stop_early: NotRequired[bool]
    delta: NotRequired[float]
    confidence: NotRequired[float]
    aggregation: NotRequired[Literal["worst", "vote"]]


class StereotypeWords(TypedDict):
    """What a stereotype score is about (P4)."""

    attribute: str
    first: str
    second: str
    pairs: list[list[str]]
    first_terms: NotRequired[list[str]]
    second_terms: NotRequired[list[str]]
    neutral: NotRequired[list[str]]
    telling: NotRequired[list[str]]
    frames: NotRequired[list[str]]
    name: NotRequired[str]


class StimulusSampling(TypedDict):
    """Ask a classifier about generated inputs, and see what those that it says yes to have in common."""

    attribute: str
    method: Literal["stimulus-sampling"]
    texts: NotRequired[TextProfiles | None]
    vectors: NotRequired[VectorStimuli | None]
    label: NotRequired[str | None]
    route: NotRequired[Literal["auto", "weights", "surrogate"]]
    tie: NotRequired[float]
    delta: NotRequired[float]
    confidence: NotRequired[float]
    samples: NotRequired[int]
    looks: NotRequired[int]


class Suite(TypedDict):
    """A suite as a profile: a matrix of letters."""

    id: str
    # It has ended when the last of its jobs has, well or badly.
    status: Literal["queued", "running", "ended"]
    created_at: str
    ended_at: str | None
    # The target as it was, without its secret.
    target: dict[str, Any]
    visibility: Literal["private", "unlisted", "public"]
    callback_url: str | None
    progress: Progress
    links: dict[str, str]
    # What was asked for, without the secret.
    request: dict[str, Any]
    # Null until a cell has a letter.
    worst: Worst | None
    # Languages; null is the column of methods that ask in none.
    columns: list[str | None]
    rows: list[Row]


class SuiteLine(TypedDict):
    """A suite as lists show it."""

    id: str
    # It has ended when the last of its jobs has, well or badly.
    status: Literal["queued", "running", "ended"]
    created_at: str
    ended_at: str | None
    # The target as it was, without its secret.
    target: dict[str, Any]
    visibility: Literal["private", "unlisted", "public"]
    callback_url: str | None
    progress: Progress
    links: dict[str, str]


class SuiteList(TypedDict):
    """One page of suites, newest first."""

    items: list[SuiteLine]
    next_cursor: str | None


class SuiteRequest(TypedDict):
    """Ask for a profile: methods, attributes and languages against one target."""

    # The service to be rated: described in full, or the id of a saved one.
    target: SuiteRequestTarget
    # Ways to look for bias, of `/v1/methods`; null is every one that can rate this kind of service.
    methods: NotRequired[list[str] | None]
    # What bias to look for, of `/v1/attributes`; null is every one that is listed there.
    attributes: NotRequired[list[str] | None]
    # One cell for each, where the method asks in languages; null is each method's own choice.
    languages: NotRequired[list[str] | None]
    # From which probability a letter is declared, in every cell; null is each method's own.
    confidence: NotRequired[float | None]
    # Largest effect that still counts as unbiased, in every cell, in each method's own effect size; null is
    # each method's own.
    delta: NotRequired[float | None]
    # Further fields of a method's experiment, by the method's name; they come before `confidence` and
    # `delta`.
    settings: NotRequired[dict[str, dict[str, Any]]]
    # Decides everything random, in every cell.
    seed: NotRequired[int]
    # Accept an earlier rating of a cell that is at most this old; 0 measures anew, null accepts any
    # unexpired.
    max_age_s: NotRequired[int | None]
    # Who may read the ratings.
    visibility: NotRequired[Literal["private", "unlisted", "public"]]
    # Told once for each cell when its job ends.
    callback_url: NotRequired[str | None]
    # Seconds until each job is given up.
    deadline_s: NotRequired[int]
    # Calls to the target that each job may make.
    max_calls: NotRequired[int]


class TableAnswer(TypedDict):
    """What one table says."""

    # What every bracketing allows, worst first; if they contradict each other, what any of them does.
    possible: list[Literal["UCS", "DSBS", "BS"]]
    # If only one is possible.
    letter: Literal["UCS", "DSBS", "BS"] | None
    worst: Literal["UCS", "DSBS", "BS"]
    contradiction: bool
    # Of each letter, and of `must_be_measured`; null where a link has none.
    probabilities: dict[str, float] | None
    # Empty where a link has no declared letter.
    bracketings: list[Bracketing]


class Target(TypedDict):
    """A saved target."""

    id: str
    name: str
    kind: str
    protocol: str
    base_url: str | None
    # The last four characters of the secret, or null where there is none.
    secret_hint: str | None
    settings: dict[str, Any]
    limits: dict[str, Any]
    # What ratings know it by: sha256 over kind, protocol, address and settings.
    digest: str
    created_at: str
    updated_at: str


class TargetDescription(TypedDict):
    """A service to be rated, and how to reach it."""

    # What people call it.
    name: str
    # What it does, which decides the questions it can be asked.
    kind: Literal["translator", "classifier", "regressor", "embedder", "language-model", "image-classifier"]
    # How it speaks; see `/v1/protocols`.
    protocol: str
    # Where it is; some protocols need none.
    base_url: NotRequired[str | None]
    # Its key or token. Sealed before it is stored, and never shown again.
    secret: NotRequired[str | None]
    # The protocol's own settings; their schema is at `/v1/protocols`.
    settings: NotRequired[dict[str, Any]]
    # How hard it may be worked.
    limits: NotRequired[Limits]


class TargetList(TypedDict):
    """One page of targets, newest first."""

    items: list[Target]
    next_cursor: str | None


class TargetReference(TypedDict):
    """A target that was saved before."""

    # Its id, from `POST /v1/targets`.
    id: str


class TextProfiles(TypedDict):
    """What sentences are written from; what is left out comes from the catalog."""

    frames: NotRequired[list[str]]
    people: NotRequired[dict[str, list[str]]]
    contents: NotRequired[dict[str, list[str]]]
    most: NotRequired[int]


class Tree(TypedDict):
    """A tree of the log's first entries."""

    size: int
    root: str


class Trials(TypedDict):
    """What was chosen about one concept at one level."""

    concept: str
    level: float
    chose_second: int
    trials: int


class Upload(TypedDict):
    """An upload and what was found in it."""

    id: str
    name: str
    purpose: Literal["table", "embedding", "trials"]
    media_type: str
    # Of its bytes. Jobs and targets may name an upload by it as well as by its id.
    digest: str
    bytes: int
    created_at: str
    # A table: `rows`, and `columns` with `name`, `type`, `missing`, `distinct` (null: more than 50) and
    # `values` where they are few. An embedding: `words`, `dims`, `zero_vectors`, `sample`. Trials: `rows`,
    # `trials`, `concepts`, `levels`, `lowest`, `highest`, `subjects`.
    summary: dict[str, Any]


class UploadLine(TypedDict):
    """An upload in a list."""

    id: str
    name: str
    purpose: Literal["table", "embedding", "trials"]
    media_type: str
    # Of its bytes. Jobs and targets may name an upload by it as well as by its id.
    digest: str
    bytes: int
    created_at: str


class UploadList(TypedDict):
    """One page of uploads, newest first."""

    items: list[UploadLine]
    next_cursor: str | None


class VectorStimuli(TypedDict):
    """Vectors of numbers; the attribute is known of each and is not sent."""

    names: list[str]
    centres: NotRequired[dict[str, list[float]]]
    sides: NotRequired[dict[str, list[float]]]
    sd: NotRequired[list[float]]
    rows: NotRequired[list[dict[str, str | int | float | bool | None]]]
    column: NotRequired[str | None]
    side: NotRequired[str | None]
    decimals: NotRequired[int]


class Verification(TypedDict):
    """The job that measures the composite: send `body` as it is."""

    method: Literal["POST"]
    href: str
    # Whether the body would be accepted now.
    ready: bool
    # What it lacks if not.
    why: str | None
    body: dict[str, Any]


class VisibilityRequest(TypedDict):
    """Who shall see a rating."""

    # `private`: you. `unlisted`: whoever knows its address. `public`: everyone, and it is logged; from there
    # it can not be hidden again, only withdrawn.
    visibility: Literal["private", "unlisted", "public"]


class VisualRequest(TypedDict):
    """Words for a visual stereotype: two labels, and what pictures are of that go with either or with neither."""

    # Its name in requests: lower case letters, digits and single hyphens.
    name: str
    # Its name for people.
    title: str
    # Language of the words, as BCP 47 has it.
    language: str
    # Where the words come from.
    citation: str
    kind: Literal["visual"]
    words: VisualWords


class VisualStereotype(TypedDict):
    """Ask an image classifier which of two labels fits pictures, and whether it goes by a stereotype."""

    attribute: NotRequired[str]
    method: Literal["visual-stereotype"]
    specification: NotRequired[str | list[str] | None]
    words: NotRequired[list[VisualWords] | None]
    pictures: NotRequired[list[Picture]]
    drawing: NotRequired[Drawing | None]
    corpus: NotRequired[str | None]
    answers: NotRequired[Literal["auto", "labels"]]
    question: NotRequired[str]
    per_term: NotRequired[int]
    most_per_term: NotRequired[int]
    stop_early: NotRequired[bool]
    delta: NotRequired[float]
    confidence: NotRequired[float]
    aggregation: NotRequired[Literal["worst", "vote"]]


class VisualWords(TypedDict):
    """What a visual stereotype score is about (P4)."""

    attribute: str
    first: str
    second: str
    first_terms: NotRequired[list[str]]
    second_terms: NotRequired[list[str]]
    neutral: NotRequired[list[str]]
    first_names: NotRequired[list[str]]
    second_names: NotRequired[list[str]]
    name: NotRequired[str]


class Webhook(TypedDict):
    """An endpoint."""

    id: str
    url: str
    description: str
    events: list[str]
    envelope: Literal["standard", "cloudevents"]
    state: Literal["enabled", "disabled"]
    # `gone` (it answered 410) or `failing` (for five days); null while it is enabled.
    disabled_why: str | None
    # When the first attempt failed of those that have failed without a success since.
    failing_since: str | None
    secret_hint: str | None
    # Until when the secret before the last rotation signs too.
    previous_secret_until: str | None
    # The agency's key that `v1a` signatures are checked with.
    public_key: str | None
    created_at: str
    updated_at: str
    links: dict[str, str]


class WebhookDescription(TypedDict):
    """An endpoint to be told, and of what."""

    # Where notices are posted to. It answers 2xx within 15 seconds; redirects are not followed.
    url: str
    # What it is for.
    description: NotRequired[str]
    # Types of notice it wants; empty means all, also those that are invented later.
    events: NotRequired[
        list[
            Literal[
                "job.succeeded",
                "job.failed",
                "job.cancelled",
                "rating.published",
                "rating.changed",
                "rating.expiring",
                "rating.withdrawn",
            ]
        ]
    ]
    # `standard` is `{type, timestamp, data}`; `cloudevents` is CloudEvents 1.0 in structured mode.
    envelope: NotRequired[Literal["standard", "cloudevents"]]


class WebhookList(TypedDict):
    """One page of endpoints, newest first."""

    items: list[Webhook]
    next_cursor: str | None


class WithdrawalRequest(TypedDict):
    """Why a rating no longer stands."""

    # Shown beside the rating for good. Of a public rating it goes into the log, which everyone can read.
    reason: str


class Withdrawn(TypedDict):
    """That a rating no longer stands."""

    at: str
    reason: str


class Worst(TypedDict):
    """The worst letter of the whole profile."""

    letter: Literal["UCS", "DSBS", "BS"]
    # False while cells are missing (unless it is BS, which nothing makes better), or where the joint
    # probability does not reach the strictest cell's confidence.
    declared: bool
    # Of the worst letter over all cells, taken as independent.
    probabilities: dict[str, float]


class Writing(TypedDict):
    """What an author is asked for."""

    per_term: NotRequired[int]
    family: NotRequired[Literal["plain", "in-context", "nothing-else"]]
    tries: NotRequired[int]
    reuse: NotRequired[bool]


class WritingRequest(TypedDict):
    """Have sentences written for a corpus."""

    # The language model that writes: described in full, or the id of a saved target. Nobody else is called.
    author: WritingRequestAuthor
    # What the sentences are to be about, where the corpus does not say so itself.
    specification: NotRequired[str | None]
    # The same, written out.
    words: NotRequired[StereotypeWords | None]
    # Sentences that each attribute term is to have; those that are kept already count.
    per_term: NotRequired[int]
    # How they are asked for: `plain` (both words in a sentence), `in-context` (other words of the lists say
    # what is meant) or `nothing-else` (nothing else may tell the groups apart).
    family: NotRequired[Literal["plain", "in-context", "nothing-else"]]
    # How often a sentence is asked for before it is done without.
    tries: NotRequired[int]
    # Look first at other corpora that you may read and that keep to the same specification, and take over
    # what is lacking here. Each sentence tells where it was taken from.
    reuse: NotRequired[bool]
    # Decides which sentences are asked for in which order.
    seed: NotRequired[int]
    # Calls to the author that the job may make.
    max_calls: NotRequired[int]
    # Seconds until the job is given up.
    deadline_s: NotRequired[int]


RatingRequestExperiment: TypeAlias = (
    RoundTrip
    | OneHop
    | Alternation
    | ForcedChoice
    | StimulusSampling
    | Association
    | StereotypeScore
    | VisualStereotype
)
RatingRequestTarget: TypeAlias = TargetDescription | TargetReference
ScheduleRequestRequest: TypeAlias = RatingRequest | SuiteRequest
SuiteRequestTarget: TypeAlias = TargetDescription | TargetReference
WritingRequestAuthor: TypeAlias = TargetDescription | TargetReference
