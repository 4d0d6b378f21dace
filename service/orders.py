"""How a request becomes a job: an earlier rating answers it, a running twin is joined, or work is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.errors import OutOfBounds, SpecificationError
from assay.methods import check_kind, fit_to
from assay.model import Kind
from service.answer import Answer
from service.callers import Caller
from service.chains import with_links
from service.context import Service
from service.cooling import refuse_while_cooling
from service.errors import located
from service.filling import check_uploaded, fill_in
from service.idempotency import Repeatable, once
from service.problems import Problem
from service.rates import Allowance
from service.schemas.jobs import TEN_YEARS_S, RatingRequest
from service.schemas.targets import TargetDescription, TargetReference
from store import idempotency, jobs, ratings, targets
from store.arrivals import Arrival
from store.ids import new_id
from store.jobs import Job, NewJob
from store.ratings import Stamp, StoredRating
from store.requests import request_digest
from store.secrets import SealedSecret
from store.specification import dump_method
from store.targets import StoredTarget

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
    most = here.settings.max_active_jobs
    arguments = (order, repeat, show, most, waits)
    rests, at_once = here.settings.cooldown_s > 0, repeat.key is None and here.database.serves_one_statement
    if at_once and not rests and (await here.rates.left(caller.purse)).allowed:
        added = await here.intake.add(Arrival(order.new, order.age_s))
        if added is not None:
            job, position = added
            answer, allowance = show(job, None, position), await here.rates.take(caller.purse)
            return Placed(answer.status, answer.body, answer.headers, job=job, made=True), allowance
    if await here.database.read(_is_known, order, repeat, most):
        try:
            return await here.database.write(_place, *arguments, permitted=False), None
        except PermitNeeded:  # it has ended or expired since
            pass
    if order.new.kind == "rating":
        await refuse_while_cooling(here, caller.tenant, order.new.target["base_url"])
    allowance = await here.rates.take(caller.purse)
    if not allowance.allowed:
        raise rate_limited(allowance)
    placed = await here.database.write(_place, *arguments, permitted=True)
    if isinstance(placed, Placed) and placed.made:
        here.bell.ring(placed.job.id)
    return placed, allowance


def _is_known(c: Any, order: Order, repeat: Repeatable, max_active: int) -> bool:
    """Whether an order will probably not be new work. Without a transaction: `_settle` decides."""
    if repeat.key is not None and idempotency.is_known(c, repeat.scope, repeat.key):
        return True
    known = jobs.standing(c, order.new.tenant, order.new.request_digest, order.age_s, max_active)
    return known.rating_id is not None or known.twin_id is not None or known.active >= max_active


def _place(
    c: Any, order: Order, repeat: Repeatable, show: Show, max_active: int, waits: bool, *, permitted: bool
) -> Placed | Answer:
    def work(c: Any) -> Placed:
        job, rating, position, made = _settle(c, order, max_active, permitted=permitted)
        answer = show(job, rating, position)
        return Placed(answer.status, answer.body, answer.headers, job=job, made=made)

    return once(c, repeat, work, lambda placed: not waits or placed.job.finished)


def _settle(
    c: Any, order: Order, max_active: int, *, permitted: bool
) -> tuple[Job, StoredRating | None, int | None, bool]:
    new = order.new
    known = jobs.standing(c, new.tenant, new.request_digest, order.age_s, max_active)
    rating = None if known.rating_id is None else ratings.find(c, known.rating_id, new.tenant)
    if rating is not None and rating.visibility == new.visibility:
        return jobs.add_finished(c, new, rating.id), rating, None, False
    twin = None if known.twin_id is None else jobs.find(c, known.twin_id, new.tenant)
    if twin is not None and _serves(twin, new):
        return twin, None, jobs.queue_position(c, twin), False
    if known.active >= max_active:
        detail = f"{max_active} of your jobs are queued or running"
        raise Problem("too-many-jobs", detail, headers={"Retry-After": str(CROWDED_RETRY_S)})
    if not permitted:
        raise PermitNeeded
    return jobs.add(c, new), None, known.ahead + 1, True


def _serves(twin: Job, new: NewJob) -> bool:
    """Whether joining `twin` gives everything that was asked for: its audience and its notice too."""
    return twin.visibility == new.visibility and new.callback_url in {None, twin.callback_url}


def rate_limited(allowance: Allowance) -> Problem:
    """Refuse new work until the caller's window moves on."""
    detail = f"{allowance.limit} new jobs are allowed in {allowance.window_s} s"
    headers = {"Retry-After": str(max(1, allowance.reset_s)), **allowance.headers}
    return Problem("rate-limited", detail, headers=headers)


# ---------------------------------------------------------------------------- what is ordered
@dataclass(frozen=True)
class OrderedTarget:
    """A target as a job keeps it: described, with its secret (plain, for a moment) apart."""

    descriptor: Mapping[str, Any]
    secret: str | None = field(repr=False)
    saved_id: str | None = None


async def resolve_target(here: Service, caller: Caller, asked: TargetDescription | TargetReference) -> OrderedTarget:
    """Look a saved target up, or take the description in the request; check that it can be reached.

    Raises
    ------
    Problem
        If there is no such target, or it cannot be carried out as described.
    """
    if isinstance(asked, TargetReference):
        row = await here.database.read(targets.find, asked.id, caller.tenant)
        if row is None:
            with located("target"):
                raise SpecificationError(f"no target has the id {asked.id!r}; POST /v1/targets saves one", "id")
        ordered = of_saved(here, row)
    else:
        ordered = OrderedTarget(asked.descriptor(), asked.plain_secret())
    with located("target"):
        ordered = await with_described_links(here, caller, ordered)
        check_target(here, ordered)
        await check_uploaded(here, caller.tenant, ordered.descriptor)
    return ordered


async def with_described_links(here: Service, caller: Caller, target: OrderedTarget) -> OrderedTarget:
    """Fill in the saved targets that the links of a chain name.

    Raises
    ------
    SpecificationError
        With the field to mend, relative to the target.
    """
    described = await with_links(here, caller.tenant, target.descriptor, saved=target.saved_id is not None)
    return replace(target, descriptor=described)


def of_saved(here: Service, row: StoredTarget) -> OrderedTarget:
    """Order a saved target.

    Raises
    ------
    SecretLost, SecretMoved
        If its secret cannot be opened.
    """
    return OrderedTarget(targets.descriptor(row), open_secret(here, row), row.id)


def open_secret(here: Service, row: StoredTarget) -> str | None:
    """Open a saved target's secret, to check that it goes with the rest."""
    if row.sealed_secret is None:
        return None
    return here.vault.open(row.sealed_secret, tenant=row.tenant, target=row.id, field="secret")


def check_target(here: Service, target: OrderedTarget) -> None:
    """Refuse a target that no call could reach.

    Raises
    ------
    SpecificationError
        With the field to mend, relative to the target.
    """
    here.desk.check({**target.descriptor, "secret": target.secret})


async def rating_order(here: Service, caller: Caller, request: RatingRequest, target: OrderedTarget) -> Order:
    """Make the order for a rating.

    Raises
    ------
    Problem, OutOfBounds
        If the method cannot rate that kind of target, or the deadline is longer than is allowed here.
    """
    kind = Kind(target.descriptor["kind"])
    longest_s = here.settings.longest_deadline_s
    if request.deadline_s > longest_s:
        raise OutOfBounds(f"deadline_s is {request.deadline_s}; this service allows at most {longest_s}", "deadline_s")
    with located("target"):
        check_kind(request.experiment, kind)
    method = await fill_in(here, caller.tenant, request.experiment, target.descriptor, request.seed)
    with located("experiment"):
        method = fit_to(method, kind)
    if request.callback_url is not None:
        here.desk.check_callback(request.callback_url)
    experiment = dump_method(method)
    new = _new_job(
        here,
        caller,
        target,
        kind="rating",
        experiment=experiment,
        digest=_request_digest(caller, target, experiment, request.seed),
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
    new = _new_job(
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


def _new_job(here: Service, caller: Caller, target: OrderedTarget, *, digest: str, **fields: Any) -> NewJob:
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


def _request_digest(caller: Caller, target: OrderedTarget, experiment: Any, seed: int) -> str:
    """Digest of everything that decides the answer: equal requests have equal digests."""
    return request_digest(caller.tenant, target.saved_id, target.descriptor, experiment, seed)
