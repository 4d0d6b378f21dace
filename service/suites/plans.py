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


async def view_of_plan(service: Service, caller: Caller, plan: Plan, prices: Prices) -> SuitePlanView:
    """Plan every cell of a suite."""
    facts = [await facts_of(service, caller, target, prices) for target in plan.targets]
    cells = []
    plans: dict[object, PlanView] = {}  # for many services with equal settings, each experiment is planned once
    for planned in plan.planned:
        target_facts, new = facts[planned.service], planned.order.new
        same = (json.dumps(new.experiment, sort_keys=True), new.max_calls, target_facts)
        if same not in plans:
            plans[same] = PlanView.of(await plan_order(planned.order, target_facts), target_facts.questions_per_call)
        view = plans[same]
        question: dict[str, Any] = {"method": planned.cell.method, "attribute": planned.cell.attribute}
        labels = {
            "target": plan.targets[planned.service].descriptor["name"],
            "column": planned.cell.label or None,
            **question,
        }
        cells.append(PlannedCellView(**dict(view), **labels))
    omitted = [
        OmittedView(
            method=omission.cell.method,
            attribute=omission.cell.attribute,
            column=omission.cell.label or None,
            reason=omission.reason,
        )
        for omission in plan.omitted
    ]
    return SuitePlanView(
        **_sum(cells), at_most=EffortView(**_sum([cell.at_most for cell in cells])), cells=cells, omitted=omitted
    )


def _sum(efforts: Sequence[EffortView]) -> dict[str, Any]:
    """Add up efforts; a sum is ``None`` if one of its parts is ``None``."""
    totals: dict[str, Any] = {}
    for name in EffortView.model_fields:
        parts = [getattr(effort, name) for effort in efforts]
        totals[name] = None if None in parts else sum(parts)
    return totals
