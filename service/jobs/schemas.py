"""Schemas of jobs: requests, progress, observations and events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, Tag, ValidatorFunctionWrapHandler, WrapValidator

from assay.model import JUDGES, service_said
from assay.rating.plan import Plan
from service.http.openapi.common_schemas import MAX_SEED, Instant, RequestModel, ResponseModel, Url, Visibility
from service.ratings.service import shorten
from service.targets.schemas import TargetDescription, TargetReference
from store.jobs.jobs import Job
from store.jobs.observations import StoredObservation
from store.ratings.experiment_json import AnyMethod

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
JobKind = Literal["rating", "probe", "rerate", "challenge", "writing", "watch"]
MAX_CALLS = 1_000_000
TEN_YEARS_S = 10 * 366 * 86_400


def _target_tag(value: Any) -> str:
    fields = set(value) if isinstance(value, dict) else ()
    return "saved" if isinstance(value, TargetReference) or "id" in fields else "described"


AnyTarget = Annotated[
    Annotated[TargetDescription, Tag("described")] | Annotated[TargetReference, Tag("saved")],
    Discriminator(_target_tag),
]


@dataclass(frozen=True)
class UnnamedExperiment:
    """An experiment without a method; the target's kind decides the method (`service.jobs.service`)."""

    fields: dict[str, Any]


def _allow_unnamed_method(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    return UnnamedExperiment(value) if isinstance(value, dict) and "method" not in value else validate(value)


class RatingRequest(RequestModel):
    """Request for a rating: the target and the experiment."""

    target: AnyTarget
    """The service to rate: described in full, or the id of a saved target."""
    experiment: Annotated[AnyMethod, WrapValidator(_allow_unnamed_method)]
    """The method and its fields (see `/v1/methods`). Without `method`: the usual method for the target's kind."""
    author: AnyTarget | None = None
    """A second service that writes the sentences or draws the images of the experiment; only for experiments that need
    them generated. Its key must be stored with a saved target."""
    judge: AnyTarget | None = None
    """A second service, a classifier or regressor, that scores the texts that the target writes; only for methods with
    a judge. Its key must be stored with a saved target."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    """Seed of all random choices. The same request, seed and replies give the same rating, bit for bit. Null draws a
    random seed, so that a service cannot know the questions; the job and the rating show it."""
    max_age_s: Annotated[int, Field(ge=0, le=TEN_YEARS_S)] | None = 0
    """Accept an earlier rating of the same request that is at most this many seconds old; 0 always measures anew, null
    accepts any unexpired rating. An identical request that is queued or running is always joined."""
    visibility: Visibility = "private"
    """Readers of the rating: only you (`private`), everyone with its id (`unlisted`), or everyone (`public`)."""
    callback_url: Url | None = None
    """Address that receives one notice when the job ends."""
    deadline_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Seconds after which the job is given up."""
    max_calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] = 10_000
    """Maximum number of calls to the target; questions beyond it count as failed."""


Price = Annotated[float, Field(ge=0, le=1_000_000)]


class Prices(RequestModel):
    """Prices and latency of the service; without them a plan has no cost and no seconds."""

    price_per_call: Price | None = None
    """Price of a call, in any currency."""
    price_per_1000_characters: Price | None = None
    """Price of a thousand characters of the questions."""
    latency_s: Annotated[float, Field(gt=0, le=600)] | None = None
    """Seconds of a call; null means the latency in the newest probe of a saved target."""


class PlanRequest(RatingRequest, Prices):
    """A request for a rating, and prices."""


class EffortView(ResponseModel):
    """Number of questions and calls, with their duration and cost."""

    questions: int
    """Different questions."""
    calls: int
    """Requests to the service, without retries; a call can carry several questions."""
    seconds: float | None
    """Duration in seconds; null while the latency is unknown."""
    cost: float | None
    """Cost in the currency of the prices; null without a price."""


class ChanceView(ResponseModel):
    """Probability that the letter is declared, for one true effect."""

    tolerances: float
    """The effect in multiples of the experiment's `delta`."""
    effect: float
    probability: float


class PlanView(EffortView):
    """Plan of a rating that ends at the first interim analysis; `at_most` is the plan if all questions are asked."""

    at_most: EffortView
    """The worst case: every look that `stop_early` allows, within `max_calls`."""
    declared: list[ChanceView] | None
    """Chance of a declared letter for each component, if answers about one topic are as similar as usual; null if the
    method cannot compute it."""
    declared_unknown: str | None
    """The reason why `declared` is null."""
    questions_per_call: int
    """Maximum number of questions in one call."""

    @classmethod
    def of(cls, plan: Plan, questions_per_call: int) -> Self:
        """Build the view of a plan; each call to the service has up to `questions_per_call` questions."""
        return cls.model_validate(plan.as_json() | {"questions_per_call": questions_per_call})


class RatingLink(ResponseModel):
    """The rating of a finished job."""

    id: str
    letter: str | None
    """The likeliest letter; null if nothing could be measured."""
    declared: bool | None
    """False if the letter is only the likeliest: shown as "inconclusive (leaning …)"."""
    href: str


class JobWait(ResponseModel):
    """The reason why a queued job does not start yet."""

    why: str
    until: Instant
    """Earliest time at which the job starts."""


class JobStart(NamedTuple):
    """Place of a job in the queue (from 1), and the estimated seconds until its start; ``None`` while unknown."""

    position: int
    in_s: int | None


class JobView(ResponseModel):
    """A job and its progress."""

    id: str
    kind: JobKind
    status: Status
    stage: str
    """Current activity, in one word."""
    asked: int
    """Different questions asked so far, failed ones included."""
    expected: int
    """Number of questions if the job ends at the first interim analysis; the number may grow."""
    failed_calls: int
    calls: int
    """Requests sent for these questions, including retries; a call can carry several questions."""
    eta_seconds: int | None
    """Estimated seconds until the end; 0 after the end, null while unknown."""
    queue_position: int | None
    """Place in the queue: 1 is next, 201 means beyond the 200th; null unless queued. Tenants take turns, so that a
    tenant with many jobs does not delay the others."""
    starts_in_seconds: int | None
    """Estimated seconds until a queued job starts; null while unknown, and unless queued."""
    waits: JobWait | None
    """Set while the job waits for its host or target, and not for a free worker."""
    attempt: int
    cancel_requested: bool
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    heartbeat_at: Instant | None
    """Time of the worker's last heartbeat."""
    deadline_at: Instant
    target: dict[str, Any]
    """The target at the time of the request, without its secret."""
    target_id: str | None
    author: dict[str, Any] | None
    """The service that writes the sentences or draws the images; null if nothing is generated."""
    judge: dict[str, Any] | None
    """The service that scores the texts that the target writes; null if there is none."""
    experiment: dict[str, Any] | None
    """The full specification, with defaults filled in; null for a probe. For a re-rating the rating and version, for a
    challenge the domain, for writing the corpus and the wanted sentences."""
    seed: int | None
    """A random seed is null until the job ends: anyone who knew it could predict the questions, try out the answers
    and cancel unfavourable jobs. `commitment` shows that it did not change."""
    commitment: str | None
    """Digest of experiment, seed and a nonce, made before any call; the rating reveals the nonce (`assay verify`). Null
    for other kinds of job, and for a job that an earlier rating answers."""
    visibility: Visibility
    max_calls: int
    callback_url: str | None
    rating: RatingLink | None
    result: Any
    """Result of a probe, a re-rating, a challenge or of writing; null for a rating."""
    error: dict[str, Any] | None
    """The reason of a failure: a problem document. `service_said` is the target's own error message, cleaned, cut to
    300 characters, if it gave one."""
    links: dict[str, str]

    @classmethod
    def of(
        cls, job: Job, *, base: str, now_s: float, start: JobStart | None = None, rating: RatingLink | None = None
    ) -> Self:
        """Build the view of a job. `base` is the service's address, `now_s` the time in seconds since 1970."""
        path = f"/v1/jobs/{job.id}"
        links = {"self": path, "events": f"{path}/events", "observations": f"{path}/observations"}
        if job.callback_url is not None:
            links["deliveries"] = f"{path}/deliveries"
        if not job.finished:
            links["cancel"] = f"{path}/cancel"
        # the error's `type` is made an absolute URL here, because workers do not know the service's address
        error = job.error
        second_service = job.author  # the author or the judge; a job has at most one of them
        is_judge = second_service is not None and second_service["kind"] in JUDGES
        return cls.from_row(
            job,
            author=None if is_judge else second_service,
            judge=second_service if is_judge else None,
            eta_seconds=seconds_left(job, now_s),
            queue_position=None if start is None else start.position,
            starts_in_seconds=None if start is None else start.in_s,
            waits=_wait_of(job),
            rating=rating,
            experiment=_experiment_to_show(job),
            seed=None if job.nonce and not job.finished else job.seed,  # a seed of the request has no nonce
            error=None if error is None else {**error, "type": f"{base}/problems/{error['code']}"},
            links=links,
        )


def _experiment_to_show(job: Job) -> dict[str, Any] | None:
    """Return a job's experiment, without held-back (unpublished) material until a rating has shown it."""
    if job.experiment is None or job.rating_id is not None:
        return job.experiment
    texts = job.experiment.get("texts")  # the other place of held-back material, depending on the method
    text_materials = texts.get("held_back") if isinstance(texts, dict) else None
    hidden_texts = {*(job.experiment.get("held_back") or ()), *(text_materials or ())}
    return _without_texts(job.experiment, hidden_texts) if hidden_texts else job.experiment


def _without_texts(value: Any, hidden_texts: set[str]) -> Any:
    """Return a part of an experiment without the hidden texts in its lists, at any depth."""
    if isinstance(value, Mapping):
        return {name: _without_texts(member, hidden_texts) for name, member in value.items()}
    if isinstance(value, list):
        shown_entries = [entry for entry in value if not (isinstance(entry, str) and entry in hidden_texts)]
        return [_without_texts(entry, hidden_texts) for entry in shown_entries]
    return value


def _wait_of(job: Job) -> JobWait | None:
    if job.status != "queued" or job.waits_why is None:
        return None
    return JobWait.from_row(job, why=job.waits_why, until=job.next_run_at)


class JobLine(JobView):
    """A job in a list, without the long lists of its experiment."""

    experiment: dict[str, Any] | None
    """The specification without the parts counted in `left_out`."""
    left_out: dict[str, int]
    """Long parts of `experiment`, which only the job itself shows, and their sizes: `{"sentences": 10000}`."""

    @classmethod
    def listed(cls, job: Job, max_entries: int, *, base: str, now_s: float, rating: RatingLink | None) -> Self:
        """Build the view of a listed job; parts of its experiment with over `max_entries` entries are left out."""
        short_experiment = shorten(_experiment_to_show(job), max_entries)
        view = JobView.of(replace(job, experiment=short_experiment.experiment), base=base, now_s=now_s, rating=rating)
        return cls(**dict(view), left_out=short_experiment.left_out)


class ObservationView(ResponseModel):
    """One probe and its reply."""

    seq: int
    """Number of the observation, in the order of recording."""
    unit: str
    """Name of the question within the job."""
    ask: dict[str, Any]
    """The question; `asks` names its kind."""
    value: Any
    """The reply."""
    failure: dict[str, str] | None
    """The reason why there is no reply: `code`, `message`, and `service_said` if the service gave its own reason."""
    copied: bool
    """Whether the reply was copied from an identical earlier question, without another call."""
    attempts: int
    elapsed_ms: int
    recorded_at: Instant
    thumbnail: str | None = None
    """Address of a thumbnail of the image in a rating's question, if you may see it."""

    @classmethod
    def of(cls, row: StoredObservation, thumbnail: str | None = None) -> Self:
        """Build the view of a recorded observation; `thumbnail` is the address of its picture."""
        record, failure = row.observation.as_json(), row.observation.reply.failure
        if failure is not None and (service_message := service_said(failure.message)) is not None:
            record["failure"] |= {"service_said": service_message}
        return cls.from_row(row, thumbnail=thumbnail, **record)

    @classmethod
    def of_rows(cls, rows: Sequence[StoredObservation], thumbnails: Mapping[str, str]) -> list[Self]:
        """Build the views of observations; `thumbnails` has the addresses of pictures by digest."""
        return [cls.of(row, thumbnails.get(getattr(row.observation.probe.ask, "image", ""))) for row in rows]


class EventView(ResponseModel):
    """An event of a job."""

    job: str
    type: str
    at: Instant
    data: dict[str, Any]


def seconds_left(job: Job, now_s: float) -> int | None:
    """Estimate the seconds until a job ends from its speed so far; 0 after the end, ``None`` while unknown."""
    if job.finished:
        return 0
    if job.status != "running" or not job.asked or job.started_at is None:
        return None
    elapsed_s = max(0.0, now_s - job.started_at / 1000)  # the clock of the database may be ahead
    return round(elapsed_s * max(0, job.expected - job.asked) / job.asked)  # more may be asked than expected
