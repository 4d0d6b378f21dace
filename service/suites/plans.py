"""Plans of suites: the effort of each cell and of all cells. Nothing is stored, and nothing is called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from service.dependencies import Service
from service.http.authentication import Caller
from service.http.openapi.common_schemas import ResponseModel
from service.jobs.planning import EffortView, PlanView, Prices, facts_of, plan_order
from service.suites.planning import Plan
from service.suites.schemas import SuiteRequest


class SuitePlanRequest(SuiteRequest, Prices):
    """A request for a suite, and prices."""


class PlannedCellView(PlanView):
    """Plan of one cell."""

    target: str
    """Name of the cell's service."""
    method: str
    attribute: str
    column: str | None


class OmittedView(ResponseModel):
    """A combination without a job."""

    method: str
    attribute: str
    column: str | None
    reason: str


class SuitePlanView(EffortView):
    """Plan of a suite: the sums of its cells, as if its jobs ran one after the other."""

    at_most: EffortView
    cells: list[PlannedCellView]
    omitted: list[OmittedView]


async def view_of_plan(here: Service, caller: Caller, plan: Plan, prices: Prices) -> SuitePlanView:
    """Plan every cell of a suite."""
    facts = [await facts_of(here, caller, target, prices) for target in plan.targets]
    cells = []
    known: dict[object, PlanView] = {}  # for many services with equal settings, each experiment is planned once
    for one in plan.planned:
        service, new = facts[one.service], one.order.new
        same = (json.dumps(new.experiment, sort_keys=True), new.max_calls, service)
        if same not in known:
            known[same] = PlanView.of(await plan_order(one.order, service), service.questions_per_call)
        view = known[same]
        about: dict[str, Any] = {"method": one.cell.method, "attribute": one.cell.attribute}
        named = {"target": plan.targets[one.service].descriptor["name"], "column": one.cell.label or None, **about}
        cells.append(PlannedCellView(**dict(view), **named))
    omitted = [
        OmittedView(
            method=one.cell.method, attribute=one.cell.attribute, column=one.cell.label or None, reason=one.reason
        )
        for one in plan.omitted
    ]
    return SuitePlanView(
        **_sum(cells), at_most=EffortView(**_sum([cell.at_most for cell in cells])), cells=cells, omitted=omitted
    )


def _sum(efforts: Sequence[EffortView]) -> dict[str, Any]:
    """Add up efforts; a sum is ``None`` if one of its parts is ``None``."""
    found: dict[str, Any] = {}
    for name in EffortView.model_fields:
        parts = [getattr(one, name) for one in efforts]
        found[name] = None if None in parts else sum(parts)
    return found
