"""How a request becomes a job: an earlier rating answers it, a running twin is joined, or work is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from assay.errors import OutOfBounds
from assay.methods import check_kind, fit_to
from assay.model import Kind
from assay.references import NOTHING
from service.dependencies import Service
from service.http.authentication import Caller
from service.http.idempotency import Repeatable, once
from service.http.json import Answer, located
from service.http.problems import Problem
from service.http.rate_limit import Allowance
from service.jobs.authors import check_author, resolve_author
from service.jobs.cool_down import refuse_while_cooling
from service.jobs.input_resolution import fill_in, with_kept
from service.jobs.schemas import TEN_YEARS_S, RatingRequest
from service.targets.target_resolution import OrderedTarget, check_rated
from service.uploads.intake import UPLOADED
from store.core.columns import SealedSecret, new_id
from store.jobs import idempotency, jobs
from store.jobs.jobs import Job, NewJob
from store.jobs.submission import request_digest
from store.ratings import ratings
from store.ratings.experiment_json import dump_method
from store.ratings.ratings import Stamp, StoredRating

CROWDED_RETRY_S = 5


@dataclass(frozen=True)
class Order:
    """A job to be made, unless a rating of at most `max_age_s` (None: any unexpired) answers it."""

    new: NewJob
    max_age_s: int | None = 0

    @property
    def age_s(self) -> int:
        """How old a rating may be to answer it; a dry run is never answered by a rating."""
        if self.new.kind != "rating":
            return 0
        return TEN_YEARS_S if self.max_age_s is None else self.max_age_s


@dataclass(frozen=True)
class Placed(Answer):
    """The answer to an order, with the job behind it and whether that was made just now."""

    job: Job = field(kw_only=True)
    made: bool = field(kw_only=True)


class PermitNeeded(Exception):
    """The order means new work, which is limited; nothing has been written."""


Show = Callable[[Job, Stamp | StoredRating | None, int | None], Answer]
"""Shapes the answer: the job, the rating that answers it, its place in the queue."""


async def place(
    here: Service, caller: Caller, order: Order, repeat: Repeatable, show: Show, *, waits: bool
) -> tuple[Placed | Answer, Allowance | None]:
    """Place an order; `waits` says that the caller prefers the answer of the job's end.

    What is known already is given out first, unlimited; only new work takes from the caller's rate.

    Returns
    -------
    (Answer, Allowance or None)
        The answer, and what is left of the rate if it was taken from.

    Raises
    ------
    Problem
        ``rate-limited``, ``too-many-jobs`` or ``cooling-down``, all only for new work.
    """
    most, allowance = here.settings.max_active_jobs, None
    if await here.database.read(_is_new, order, repeat, most):
        allowance = await _permit(here, caller, order)
    arguments = (order, repeat, show, most, waits)
    try:
        placed = await here.database.write(_place, *arguments, permitted=allowance is not None)
    except PermitNeeded:  # what answered it a moment ago has ended or expired
        allowance = await _permit(here, caller, order)
        placed = await here.database.write(_place, *arguments, permitted=True)
    if isinstance(placed, Placed) and placed.made:
        here.bell.ring(placed.job.id)
    return placed, allowance


async def _permit(here: Service, caller: Caller, order: Order) -> Allowance:
    if order.new.kind == "rating" and here.settings.cooldown_s > 0:
        await refuse_while_cooling(here, caller.tenant, order.new.target["base_url"])
    allowance = await here.rates.take(caller.purse)
    if not allowance.allowed:
        raise rate_limited(allowance)
    return allowance


def _is_new(c: Any, order: Order, repeat: Repeatable, max_active: int) -> bool:
    """Whether an order means new work, by a read without a transaction: `_place` decides."""
    if repeat.key is not None and idempotency.is_known(c, repeat.scope, repeat.key):
        return False
    return _existing(c, order, max_active)[:2] == (None, None)


def _place(
    c: Any, order: Order, repeat: Repeatable, show: Show, max_active: int, waits: bool, *, permitted: bool
) -> Placed | Answer:
    def work(c: Any) -> Placed:
        jobs.serialise(c, order.new.request_digest)
        rating, job, position = _existing(c, order, max_active)
        made = rating is None and job is None
        if made and not permitted:
            raise PermitNeeded
        if rating is not None:
            job = jobs.add_finished(c, order.new, rating.id)
        elif job is None:
            job = jobs.add(c, order.new)
        answer = show(job, rating, position)
        return Placed(answer.status, answer.body, answer.headers, job=job, made=made)

    return once(c, repeat, work, lambda placed: not waits or placed.job.finished)


def _existing(c: Any, order: Order, max_active: int) -> tuple[StoredRating | None, Job | None, int | None]:
    """Find the rating that answers an order, or the unfinished job to join, and the job's place in the queue.

    Raises
    ------
    Problem
        ``too-many-jobs``, if neither exists and the tenant may have no other unfinished job.
    """
    new = order.new
    known = jobs.standing(c, new.tenant, new.request_digest, order.age_s, max_active)
    rating = None if known.rating_id is None else ratings.find(c, known.rating_id, new.tenant)
    if rating is not None and rating.visibility == new.visibility:
        return rating, None, None
    twin = None if known.twin_id is None else jobs.find(c, known.twin_id, new.tenant)
    if twin is not None and _serves(twin, new):
        return None, twin, jobs.queue_position(c, twin)
    if known.active >= max_active:
        detail = f"{max_active} of your jobs are queued or running"
        raise Problem("too-many-jobs", detail, headers={"Retry-After": str(CROWDED_RETRY_S)})
    return None, None, known.ahead + 1


def _serves(twin: Job, new: NewJob) -> bool:
    """Whether joining `twin` gives everything that was asked for: its audience and its notice too."""
    return twin.visibility == new.visibility and new.callback_url in {None, twin.callback_url}


def rate_limited(allowance: Allowance) -> Problem:
    """Refuse new work until the caller's window moves on."""
    detail = f"{allowance.limit} new jobs are allowed in {allowance.window_s} s"
    headers = {"Retry-After": str(max(1, allowance.reset_s)), **allowance.headers}
    return Problem("rate-limited", detail, headers=headers)


# ---------------------------------------------------------------------------- what is ordered
async def rating_order(
    here: Service, caller: Caller, request: RatingRequest, target: OrderedTarget, *, standing: bool = False
) -> Order:
    """Make the order for a rating; in a `standing` one what an author made before is looked up at each run.

    Raises
    ------
    Problem, OutOfBounds
        If the method cannot rate that kind of target, or the deadline is longer than is allowed here.
    """
    kind, method = Kind(target.descriptor["kind"]), request.experiment
    longest_s = here.settings.longest_deadline_s
    if request.deadline_s > longest_s:
        raise OutOfBounds(f"deadline_s is {request.deadline_s}; this service allows at most {longest_s}", "deadline_s")
    with located("target"):
        check_kind(method, kind)
        check_rated(target.descriptor)
    author = None if request.author is None else await resolve_author(here, caller, request.author)
    if method.references() != NOTHING or target.descriptor["protocol"] == UPLOADED:
        method = await fill_in(here, caller.tenant, method, target.descriptor, request.seed)
    with located("experiment"):
        method = fit_to(method, kind)
    if author is not None or method.needs_author:
        with located():
            check_author(method, author)
    if request.callback_url is not None:
        here.desk.check_callback(request.callback_url)
    # the same request has the same digest whether or not what it would have made is kept by now
    digest = _request_digest(caller, target, dump_method(method), request.seed, author)
    if author is not None and not standing:
        method = await with_kept(here, caller.tenant, method)
    new = new_job(
        here,
        caller,
        target,
        kind="rating",
        author=author,
        experiment=dump_method(method),
        digest=digest,
        seed=request.seed,
        visibility=request.visibility,
        callback_url=request.callback_url,
        max_calls=request.max_calls,
        deadline_s=request.deadline_s,
        expected=method.expected_probes(),
    )
    return Order(new, request.max_age_s)


def probe_order(here: Service, caller: Caller, target: OrderedTarget) -> Order:
    """Make the order for a dry run of a saved target."""
    new = new_job(
        here,
        caller,
        target,
        kind="probe",
        experiment=None,
        digest=_request_digest(caller, target, "probe", 0),
        seed=0,
        visibility="private",
        callback_url=None,
        max_calls=100,
        deadline_s=120,
        expected=0,
    )
    return Order(new)


def new_job(here: Service, caller: Caller, target: OrderedTarget, *, digest: str, **fields: Any) -> NewJob:
    """Make a job that calls a target; a secret that came with the request is sealed for it."""
    job_id = new_id("job")
    sealed: SealedSecret | None = None
    if target.secret is not None and target.saved_id is None:  # a saved target keeps its secret to itself
        sealed = here.vault.seal(target.secret, tenant=caller.tenant, target=job_id, field="secret")
    return NewJob(
        id=job_id,
        tenant=caller.tenant,
        key_id=caller.key_id,
        target_id=target.saved_id,
        target=dict(target.descriptor),
        sealed_secret=sealed,
        request_digest=digest,
        **fields,
    )


def _request_digest(
    caller: Caller, target: OrderedTarget, experiment: Any, seed: int, author: dict[str, Any] | None = None
) -> str:
    """Digest of everything that decides the answer: equal requests have equal digests."""
    return request_digest(caller.tenant, target.saved_id, target.descriptor, experiment, seed, author)
