"""Jobs: a rating (or a probe) that was asked for, and how far it has come."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag

from service.http.openapi.common_schemas import MAX_SEED, Asked, Instant, Told, Url, Visibility, instant, maybe_instant
from service.ratings.summaries import abridge
from service.targets.schemas import TargetDescription, TargetReference
from store.jobs.jobs import Event, Job
from store.jobs.observations import StoredObservation
from store.ratings.experiment_json import AnyMethod

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
MAX_CALLS = 1_000_000
TEN_YEARS_S = 10 * 366 * 86_400


def _form_of_target(value: Any) -> str:
    written = set(value) if isinstance(value, dict) else ()
    return "saved" if isinstance(value, TargetReference) or "id" in written else "described"


AnyTarget = Annotated[
    Annotated[TargetDescription, Tag("described")] | Annotated[TargetReference, Tag("saved")],
    Discriminator(_form_of_target),
]


class RatingRequest(Asked):
    """Ask for a rating: what is to be rated, and how."""

    target: AnyTarget
    """The service to be rated: described in full, or the id of a saved one."""
    experiment: AnyMethod
    """How to look for bias; `/v1/methods` lists the methods and their fields."""
    author: AnyTarget | None = None
    """A second service, that writes or draws what the first is asked about; only where the experiment has something
    made. Its key is kept with a saved target."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """Decides everything random. The same request, seed and replies give the same rating, bit for bit."""
    max_age_s: Annotated[int, Field(ge=0, le=TEN_YEARS_S)] | None = 0
    """Accept an earlier rating of the same request that is at most this old; 0 measures anew, null accepts any
    that has not expired. The same request that is still queued or running is always joined, not repeated."""
    visibility: Visibility = "private"
    """Who may read the rating: only you, whoever has its id, or everyone."""
    callback_url: Url | None = None
    """Told once when the job ends."""
    deadline_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Seconds until the job is given up."""
    max_calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] = 10_000
    """Calls to the target that the job may make; what cannot be asked any more counts as failed."""


class RatingLink(Told):
    """The rating a job ended with."""

    id: str
    letter: str | None
    """The likeliest letter; null where nothing could be measured."""
    declared: bool | None
    """False where the letter is only the likeliest: shown as "inconclusive (leaning …)"."""
    href: str


class JobView(Told):
    """A job and how far it has come."""

    id: str
    kind: Literal["rating", "probe", "rerate", "challenge", "writing"]
    status: Status
    stage: str
    """What it is doing, in a word."""
    asked: int
    """Questions answered so far."""
    expected: int
    """Questions a clear case takes; it may grow."""
    failed_calls: int
    calls: int
    """Calls made, retries included."""
    eta_seconds: int | None
    """An estimate; 0 once ended, null while unknown."""
    queue_position: int | None
    """1 is next; 201 stands for every place after the 200th; null unless queued."""
    attempt: int
    cancel_requested: bool
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    heartbeat_at: Instant | None
    """When a worker last said it is alive."""
    deadline_at: Instant
    target: dict[str, Any]
    """The target as it was when the job was made, without its secret."""
    target_id: str | None
    author: dict[str, Any] | None
    """The service that writes or draws what the target is asked about; null where nothing is made."""
    experiment: dict[str, Any] | None
    """The full specification, with defaults filled in; null for a probe. Of a re-rating which rating and version, of
    a challenge which domain, of writing what is wanted for which corpus."""
    seed: int
    visibility: Visibility
    max_calls: int
    callback_url: str | None
    rating: RatingLink | None
    result: Any
    """What a probe, a re-rating or a challenge found, or what was written; null for a rating."""
    error: dict[str, Any] | None
    """Why it failed: a problem document."""
    links: dict[str, str]

    @classmethod
    def of(
        cls, job: Job, *, base: str, now_s: float, position: int | None = None, rating: RatingLink | None = None
    ) -> Self:
        """Show a job. `base` is the service's address, `now_s` seconds since 1970."""
        here = f"/v1/jobs/{job.id}"
        links = {"self": here, "events": f"{here}/events", "observations": f"{here}/observations"}
        if job.callback_url is not None:
            links["deliveries"] = f"{here}/deliveries"
        if not job.finished:
            links["cancel"] = f"{here}/cancel"
        return cls(
            id=job.id,
            kind=job.kind,
            status=job.status,
            stage=job.stage,
            asked=job.asked,
            expected=job.expected,
            failed_calls=job.failed_calls,
            calls=job.calls,
            eta_seconds=seconds_left(job, now_s),
            queue_position=position,
            attempt=job.attempt,
            cancel_requested=bool(job.cancel_requested),
            created_at=instant(job.created_at),
            started_at=maybe_instant(job.started_at),
            finished_at=maybe_instant(job.finished_at),
            heartbeat_at=maybe_instant(job.heartbeat_at),
            deadline_at=instant(job.deadline_at),
            target=job.target,
            target_id=job.target_id,
            author=job.author,
            experiment=job.experiment,
            seed=job.seed,
            visibility=job.visibility,
            max_calls=job.max_calls,
            callback_url=job.callback_url,
            rating=rating,
            result=job.result,
            error=_absolute(job.error, base),
            links=links,
        )


class JobLine(JobView):
    """A job in a list: as the job itself, but without what its experiment holds by the thousand."""

    experiment: dict[str, Any] | None
    """As the job itself shows it, without what `left_out` counts."""
    left_out: dict[str, int]
    """What of `experiment` only the job itself shows, and how many entries that has: `{"sentences": 10000}`. Whatever
    has more than 100 is left out."""

    @classmethod
    def listed(cls, job: Job, *, base: str, now_s: float, rating: RatingLink | None) -> Self:
        """Show a job in a list; see `JobView.of`."""
        if job.experiment is None:
            return cls(**dict(JobView.of(job, base=base, now_s=now_s, rating=rating)), left_out={})
        short = abridge(job.experiment)
        view = JobView.of(replace(job, experiment=short.experiment), base=base, now_s=now_s, rating=rating)
        return cls(**dict(view), left_out=short.left_out)


class JobList(Told):
    """One page of jobs, newest first."""

    items: list[JobLine]
    next_cursor: str | None


class ObservationView(Told):
    """One probe and its reply."""

    seq: int
    """Order in which it was recorded."""
    unit: str
    """Its name within the job."""
    ask: dict[str, Any]
    """The question; `asks` names its kind."""
    value: Any
    """What came back."""
    failure: dict[str, str] | None
    """Why nothing came back."""
    copied: bool
    """Whether an identical question had been asked before, so that the target was not called again."""
    attempts: int
    elapsed_ms: int
    recorded_at: Instant

    @classmethod
    def of(cls, kept: StoredObservation) -> Self:
        """Show a row of the ledger."""
        return cls(
            seq=kept.seq,
            attempts=kept.attempts,
            elapsed_ms=kept.elapsed_ms,
            recorded_at=instant(kept.recorded_at),
            **kept.observation.as_json(),
        )


class ObservationList(Told):
    """One page of observations, in the order they were recorded."""

    items: list[ObservationView]
    next_cursor: str | None


class EventView(Told):
    """Something that happened to a job."""

    job: str
    type: str
    at: Instant
    data: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> Self:
        """Show an event."""
        return cls(job=event.job_id, type=event.type, at=instant(event.at), data=event.data)


def seconds_left(job: Job, now_s: float) -> int | None:
    """Estimate the seconds until a job ends from its pace so far; 0 once ended, None while unknown."""
    if job.finished:
        return 0
    if job.status != "running" or not job.asked or job.started_at is None:
        return None
    elapsed_s = max(0.0, now_s - job.started_at / 1000)
    return round(elapsed_s * max(0, job.expected - job.asked) / job.asked)


def _absolute(error: dict[str, Any] | None, base: str) -> dict[str, Any] | None:
    """Make the type of a job's problem an absolute address; workers do not know where they are served."""
    return None if error is None else {**error, "type": f"{base}/problems/{error['code']}"}
