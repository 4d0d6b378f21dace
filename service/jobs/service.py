"""Submission of jobs: reuse an earlier rating, join an identical running job, or add a new job.

The author of a job is a second service that writes sentences or draws images for the experiment; a judge is one that
scores the texts that the target writes. A job has at most one of the two, as `author`. It is called only if the request
names it, and its key stays with its saved target, so that a job holds at most one secret.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from assay.canonical import digest_of
from assay.errors import OutOfBounds, SpecificationError
from assay.experiment import generator
from assay.methods import AnyMethod, check_kind, fit_to, usual_method
from assay.methods.shared.held_back import draw
from assay.model import Kind
from assay.rating.plan import Plan, plan_of
from assay.rating.plan import Service as Plannable
from assay.references import NOTHING, HeldBack
from service.container import Service
from service.http.authentication import Caller
from service.http.idempotency import Repeatable, once
from service.http.json import Answer, bad_specification, located, write_json
from service.http.problems import Problem
from service.jobs.inputs import reading_of, with_named_inputs, with_rows, with_stored_items
from service.jobs.schemas import TEN_YEARS_S, Prices, RatingRequest, UnnamedExperiment
from service.targets.schemas import TargetDescription, TargetReference
from service.targets.service import ResolvedTarget, check_language_model, check_rated, check_target, find_target
from service.uploads.service import UPLOADED
from store.core.columns import SealedSecret, new_id, random_nonce, random_seed
from store.core.database import Connection
from store.jobs import cooldowns, jobs
from store.jobs.job import request_digest
from store.jobs.jobs import Job, NewJob
from store.ratings import ratings
from store.ratings.experiment_json import dump_method, parse_method
from store.ratings.ratings import Stamp, StoredRating
from store.targets import domains

CROWDED_RETRY_S = 5

NEAR_LIMIT = 100
"""Unfinished jobs are counted under a lock from this many below the maximum: more than concurrent requests add."""

MAX_EXPERIMENT_BYTES = 7_000_000
"""Maximum size of an experiment with its inputs, in bytes of JSON; the job and the rating store it."""


@dataclass(frozen=True)
class Order:
    """A requested job; not run if an equal job's rating is at most `max_age_s` seconds old (``None``: unexpired)."""

    job: NewJob
    max_age_s: int | None = 0

    @property
    def age_s(self) -> int:
        """Maximum age in seconds of an earlier rating that replaces the job; 0 for a job that makes no rating."""
        if self.job.kind != "rating":
            return 0
        return TEN_YEARS_S if self.max_age_s is None else self.max_age_s


class PlacedJob(NamedTuple):
    """The job that answers an order, and whether it was added as a new job for this order."""

    job: Job
    is_new: bool


class RateNotTaken(Exception):
    """Raised if an order turns out to need a new job, which the rate limit has not counted; nothing was written."""


Show = Callable[[Job, Stamp | StoredRating | None, int | None], Answer]
"""Builds the answer from the job, its rating if it has one, and the number of the tenant's queued jobs before it."""


async def place(
    service: Service, caller: Caller, order: Order, repeat: Repeatable, show: Show, *, waits: bool
) -> tuple[Answer, Job | None]:
    """Find or create the job of an order; return `show`'s answer and the job (``None`` if the request is a repetition).

    If `waits`, the caller waits for the job's end and stores the final answer. Only new jobs count for the rate limit.

    Raise `Problem` ``rate-limited``, ``too-many-jobs`` or ``cooling-down``, for new jobs only.
    """
    max_active = service.settings.max_active_jobs
    target_url = order.job.target["base_url"] if order.job.kind == "rating" else None  # only ratings have a cool-down
    if is_new := await service.database.read(_is_new, order, max_active):
        await permit(service, caller, target_url)
    arguments = (order, repeat, show, max_active, waits)
    try:
        answer, placed_job = await service.database.write(_place_order, *arguments, permitted=is_new)
    except RateNotTaken:  # the rating or job that would have answered this request expired or ended in the meantime
        await permit(service, caller, target_url)
        answer, placed_job = await service.database.write(_place_order, *arguments, permitted=True)
    if placed_job is not None and placed_job.is_new:
        service.dispatcher.ring(placed_job.job.id)
    return answer, placed_job and placed_job.job


async def permit(service: Service, caller: Caller, target_url: str | None, count: int = 1) -> None:
    """Take `count` new jobs from the caller's rate limit, or raise ``rate-limited`` without taking any.

    New jobs are also refused during the cool-down of the target at `target_url`; ``None`` skips this check.
    """
    await refuse_cooling(service, caller, target_url)
    await service.rate_limiter.take(caller.tenant, count)


async def refuse_cooling(service: Service, caller: Caller, target_url: str | None) -> None:
    """Raise ``cooling-down`` during the cool-down (pause after a rating) of the target at `target_url`, if given."""
    cooldown_s = service.settings.cooldown_s
    if target_url and cooldown_s > 0:
        wait_s = await service.database.read(cooldowns.remaining_s, caller.tenant, target_url, cooldown_s)
        if wait_s:
            raise cooling_down(wait_s)


def cooling_down(wait_s: int) -> Problem:
    """Return the problem for a target whose cool-down lasts `wait_s` more seconds."""
    detail = f"the target cannot be called for another {wait_s} s"
    return Problem("cooling-down", detail, headers={"Retry-After": str(wait_s)})


def too_many_jobs(detail: str | None) -> Problem:
    """Return the problem for a tenant with the maximum number of unfinished jobs."""
    return Problem("too-many-jobs", detail, headers={"Retry-After": str(CROWDED_RETRY_S)})


def count_active(c: Connection, tenant: str) -> int:
    """Count a tenant's unfinished jobs; until this transaction ends, others that count them wait."""
    jobs.lock_transaction(c, f"active:{tenant}")
    return jobs.count_unfinished(c, tenant)


def _is_new(c: Connection, order: Order, max_active: int) -> bool:
    """Return whether an order needs a new job; only an estimate, because it reads without a transaction."""
    return _find_existing(c, order, max_active)[:2] == (None, None)  # neither a rating nor a job to join


def _place_order(
    c: Connection, order: Order, repeat: Repeatable, show: Show, max_active: int, waits: bool, *, permitted: bool
) -> tuple[Answer, PlacedJob | None]:
    """Answer an order in a transaction (see `place`); raise `RateNotTaken` if it adds a job and is not `permitted`."""

    def find_or_add_job(c: Connection) -> tuple[Answer, PlacedJob]:
        jobs.lock_transaction(c, order.job.request_digest)  # equal requests are placed one after the other
        rating, job, jobs_before = _find_existing(c, order, max_active)
        is_new = rating is None and job is None
        if is_new and not permitted:
            raise RateNotTaken  # `place` takes the job from the rate limit, and tries again
        if job is None:
            job = jobs.add(c, as_rated(order.job, rating), rating)
        return show(job, rating, jobs_before), PlacedJob(job, is_new)

    return once(c, repeat, find_or_add_job, is_final=lambda placed: not waits or placed.job.finished)


def as_rated(job: NewJob, rating: StoredRating | None) -> NewJob:
    """Return a job with the experiment and the seed of the `rating` that answers it; unchanged without a rating."""
    if rating is None:
        return job
    visible_rating = rating.seen_by(job.tenant).rating
    seed = job.seed if visible_rating.seed is None else visible_rating.seed
    return replace(job, seed=seed, experiment=dict(visible_rating.experiment))


def _find_existing(c: Connection, order: Order, max_active: int) -> tuple[StoredRating | None, Job | None, int | None]:
    """Return the rating or the unfinished job that answers an order, and the number of queued jobs before that job.

    Rating and job are ``None`` if the order needs a new job. Such an order is refused with ``too-many-jobs`` if the
    tenant has the maximum number of unfinished jobs, and with `RatingsRefused` if a host of a target refuses ratings.
    """
    job = order.job
    known_work = jobs.existing_work(c, job, order.age_s, max_active)
    if known_work.rating_id is not None and (rating := ratings.find(c, known_work.rating_id, job.tenant)):
        return rating, None, None
    if known_work.twin_id is not None and (twin := jobs.find(c, known_work.twin_id, job.tenant)):
        return None, twin, jobs.own_before(c, twin)
    # near the limit, the unfinished jobs are counted again, under a lock
    if known_work.active >= max_active - NEAR_LIMIT and count_active(c, job.tenant) >= max_active:
        raise too_many_jobs(f"{max_active} of your jobs are queued or running; wait until one of them has ended")
    if known_work.refusals and job.kind in domains.CALLING:  # some host refuses ratings, and the job calls services
        domains.check(c, job.tenant, job.target, job.author)
    return None, None, known_work.own_before


# ---------------------------------------------------------------------------- construction of orders
async def rating_order(
    service: Service, caller: Caller, request: RatingRequest, target: ResolvedTarget, *, recurring: bool = False
) -> Order:
    """Return the order for a rating; if `recurring` (for a schedule), items that authors made earlier are not reused.

    Raise `Problem` or `OutOfBounds` if the method cannot rate that kind of target, or the deadline is longer than the
    operator allows.
    """
    kind = Kind(target.descriptor["kind"])
    request.experiment = method = _with_method(request.experiment, kind)  # also in the request, for schedules
    check_deadline(service, request.deadline_s)
    with located("target"):
        check_kind(method, kind)
        check_rated(target.descriptor)
    author, method = await second_service(service, caller, request, method)
    seed = random_seed() if request.seed is None else request.seed
    if method.references() != NOTHING or target.descriptor["protocol"] == UPLOADED:  # it needs stored inputs
        method = await with_named_inputs(service, caller.tenant, method, target.descriptor)
    with located("experiment"):
        method = fit_to(method, kind, target.descriptor["settings"])  # adapted to the kind of service
    if request.author is not None or method.needs_author:
        with located():
            check_author(method, author)
    if request.callback_url is not None:
        service.target_validator.check_callback(request.callback_url)
    if request.seed is None:  # an experiment copied from an earlier rating can hold questions that the rating revealed
        method = method.with_held_back(HeldBack())
    # the digest covers neither rows nor held-back material nor earlier items, so that equal requests have equal digests
    rows = method.references().rows
    request_fields = dump_method(method) | ({} if rows is None else await reading_of(service, caller.tenant, rows))
    digest = request_digest(caller.tenant, target.saved_id, target.descriptor, request_fields, request.seed, author)
    if service.held_back != HeldBack() and request.seed is None and request.visibility == "public" and not recurring:
        method = method.with_held_back(draw(service.held_back, generator(random_seed())))
    if rows is not None:
        method = await with_rows(service, caller.tenant, method, rows, seed)
    if author is not None and not recurring:
        method = await with_stored_items(service, caller.tenant, method)
    experiment = dump_method(method)
    if (size := len(write_json(experiment))) > MAX_EXPERIMENT_BYTES:
        reason = f"the experiment holds {size:,} bytes with its stored material; {MAX_EXPERIMENT_BYTES:,} are allowed"
        raise bad_specification(OutOfBounds(f"{reason}: take fewer or shorter sentences or rows"), ("experiment",))
    job = new_job(
        service,
        caller,
        target,
        kind="rating",
        author=author,
        experiment=experiment,
        digest=digest,
        seed=seed,
        nonce=random_nonce() if request.seed is None else "",
        visibility=request.visibility,
        callback_url=request.callback_url,
        max_calls=request.max_calls,
        deadline_s=request.deadline_s,
        expected=method.expected_probes(),
    )
    return Order(job, request.max_age_s)


def check_deadline(service: Service, deadline_s: int) -> None:
    """Refuse a deadline that is longer than the operator allows."""
    if deadline_s > (longest_s := service.settings.longest_deadline_s):
        raise OutOfBounds(f"deadline_s is {deadline_s}; this service allows at most {longest_s}", "deadline_s")


def _with_method(experiment: AnyMethod | UnnamedExperiment, kind: Kind) -> AnyMethod:
    """Return the experiment; if the request names no method, its method is the default one of the target's kind."""
    if not isinstance(experiment, UnnamedExperiment):
        return experiment
    with located("experiment"):
        return parse_method({"method": usual_method(kind), **experiment.fields})


def probe_order(service: Service, caller: Caller, target: ResolvedTarget) -> Order:
    """Return the order for a probe (test call); an identical running probe is joined only if the target is saved.

    Targets that are not saved may differ only in their secrets, which a request's digest does not cover.
    """
    digest = probe_digest(caller, target) if target.saved_id is not None else new_id("probe")
    job = new_job(service, caller, target, kind="probe", experiment=None, digest=digest, max_calls=100, deadline_s=120)
    return Order(job)


def probe_digest(caller: Caller, target: ResolvedTarget) -> str:
    """Return the digest by which identical probes of a saved target are recognised."""
    return request_digest(caller.tenant, target.saved_id, target.descriptor, experiment="probe", seed=0)


def new_job(service: Service, caller: Caller, target: ResolvedTarget, *, digest: str, **fields: Any) -> NewJob:
    """Return a new job, private and without a callback unless `fields` say otherwise.

    A secret in the request is encrypted for this job; the secret of a saved target stays with the target.
    """
    job_id = new_id("job")
    sealed_secret: SealedSecret | None = None
    if target.secret is not None and target.saved_id is None:
        owner = {"tenant": caller.tenant, "target": job_id}
        sealed_secret = service.vault.seal_for_target(target.secret, **owner, description=target.descriptor)
    defaults: dict[str, Any] = {"seed": 0, "visibility": "private", "callback_url": None, "expected": 0}
    return NewJob(
        id=job_id,
        tenant=caller.tenant,
        key_id=caller.key_id,
        target_id=target.saved_id,
        target=dict(target.descriptor),
        sealed_secret=sealed_secret,
        request_digest=digest,
        **(defaults | fields),
    )


async def second_service(
    service: Service, caller: Caller, request: RatingRequest, method: AnyMethod
) -> tuple[dict[str, Any] | None, AnyMethod]:
    """Return the descriptor of a job's author or judge (``None``: neither), and the method, set to the judge's kind."""
    check_judge(method, request)
    if request.judge is None:
        author = None if request.author is None else await resolve_second(service, caller, request.author, "author")
        return author, method
    judge = await resolve_second(service, caller, request.judge, "judge")
    with located("judge"):
        return judge, method.with_judge(Kind(judge["kind"]))


async def resolve_second(
    service: Service, caller: Caller, request: TargetDescription | TargetReference, role: Literal["author", "judge"]
) -> dict[str, Any]:
    """Return the descriptor of a job's author or judge, with its ``id`` if it is a saved target."""
    with located(role):
        if isinstance(request, TargetDescription) and request.secret is not None:
            rule = f"the key of the {role} must be stored with a saved target"
            raise SpecificationError(f"{rule}; POST /v1/targets, and name its id", "secret")
        target = await find_target(service, caller, request)
        if role == "author":
            check_language_model(target)
        await check_target(service, target)
    return {**({} if target.saved_id is None else {"id": target.saved_id}), **target.descriptor}


def check_judge(method: AnyMethod, request: RatingRequest) -> None:
    """Refuse an experiment without the judge that it needs, and a judge together with an author."""
    with located():
        if request.judge is not None and request.author is not None:
            raise SpecificationError("a job has an author or a judge, not both; leave one out", "judge")
        if request.judge is None and method.needs_judge:
            raise SpecificationError("the texts are to be judged: name the judge, or leave its answers out", "judge")


def check_author(method: AnyMethod, author: dict[str, Any] | None) -> None:
    """Refuse an author that the experiment does not need or, if it needs an author, a request without it (``None``)."""
    if author is None:
        remedy = "name the service that generates it, or send the material"
        raise SpecificationError(f"the experiment's material is generated; {remedy}", "author")
    if not method.needs_author:
        raise SpecificationError("this experiment needs no author; leave the author out", "author")


def maintenance_order(
    service: Service, caller: Caller, kind: str, concerns: Mapping[str, Any], target: Mapping[str, Any], deadline_s: int
) -> Order:
    """Return the order for a job that calls no target (``rerate``, ``challenge``); an identical running job is joined.

    `concerns` is the worker's input, shown as the job's `experiment`; `target` is shown with the job but not called.
    """
    digest = digest_of({"tenant": caller.tenant, "kind": kind, "concerns": dict(concerns)})
    fields = {"kind": kind, "experiment": dict(concerns), "max_calls": 1, "deadline_s": deadline_s}
    return Order(new_job(service, caller, ResolvedTarget(target), digest=digest, **fields))


# ---------------------------------------------------------------------------- plans
async def facts_of(service: Service, caller: Caller, target: ResolvedTarget, prices: Prices) -> Plannable:
    """Return a target's limits, latency and prices, to plan calls; the default latency is the newest test call's."""
    latency_s = prices.latency_s
    if latency_s is None and target.saved_id is not None:
        digest = probe_digest(caller, target)
        probe: Mapping[str, Any] | None = await service.database.read(jobs.newest_result, caller.tenant, digest)
        latency_s = None if probe is None else probe.get("latency_s")
    limits = target.descriptor["limits"]
    return Plannable(
        questions_per_call=service.target_validator.questions_per_call(target.descriptor),
        concurrency=limits["concurrency"],
        requests_per_second=limits["requests_per_second"],
        latency_s=latency_s or None,  # recorded answers take no time, so there is no estimate
        price_per_call=prices.price_per_call,
        price_per_1000_characters=prices.price_per_1000_characters,
    )


async def plan_order(order: Order, facts: Plannable) -> Plan:
    """Plan the job of an order, in a thread, because long lists of words take some tenths of a second."""
    job = order.job
    limits = {"seed": job.seed, "max_calls": job.max_calls}
    return await asyncio.to_thread(lambda: plan_of(parse_method(job.experiment or {}), facts, **limits))
