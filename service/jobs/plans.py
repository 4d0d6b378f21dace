"""Plans of jobs: questions, calls, duration and cost of a request. Nothing is stored, and nothing is called."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field

from assay.rating.plan import Plan, Service, plan_of
from service.container import Service as Agency
from service.http.authentication import Caller
from service.http.openapi.common_schemas import RequestModel, ResponseModel
from service.jobs.schemas import RatingRequest
from service.jobs.service import Order, probe_digest
from service.targets.service import ResolvedTarget
from store.jobs import jobs
from store.ratings.experiment_json import parse_method

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
    """Plan of a rating that is decided at the first look; `at_most` is the plan if no look decides it."""

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
        """Build the view of a plan."""
        return cls.model_validate(plan.as_json() | {"questions_per_call": questions_per_call})


async def facts_of(service: Agency, caller: Caller, target: ResolvedTarget, prices: Prices) -> Service:
    """Return the facts about a target that a plan needs; the latency may be that of its newest probe."""
    latency_s = prices.latency_s
    if latency_s is None and target.saved_id is not None:
        digest = probe_digest(caller, target)
        probe: Mapping[str, Any] | None = await service.database.read(jobs.newest_result, caller.tenant, digest)
        latency_s = None if probe is None else probe.get("latency_s")
    limits = target.descriptor["limits"]
    return Service(
        service.target_validator.questions_per_call(target.descriptor),
        limits["concurrency"],
        limits["requests_per_second"],
        latency_s or None,  # recorded answers have no latency, so there is no estimate
        prices.price_per_call,
        prices.price_per_1000_characters,
    )


async def plan_order(order: Order, service: Service) -> Plan:
    """Plan the job of an order, in a thread, because long lists of words take some tenths of a second."""
    new = order.new
    return await asyncio.to_thread(
        lambda: plan_of(parse_method(new.experiment or {}), service, seed=new.seed, max_calls=new.max_calls)
    )
