"""Planning of a suite: an order for each valid combination, a reason for each invalid one, and the effort of all."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.bounds import refuse_repeats
from assay.catalog.values import USUAL
from assay.document import Json, JsonObject
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.methods import AnyMethod, every_method, method_name
from assay.model import Kind
from service.container import Service
from service.http.authentication import Caller
from service.http.json import located, write_json
from service.http.problems import Problem
from service.jobs.schemas import EffortView, PlanView, Prices, RatingRequest
from service.jobs.service import Order, facts_of, plan_order, rating_order
from service.suites.schemas import (
    MAX_CELLS,
    MAX_SUITE_BYTES,
    MAX_SUITE_CELLS,
    OmittedView,
    PlannedCellView,
    SuitePlanView,
    SuiteRequest,
)
from service.targets.schemas import TargetDescription, TargetReference
from service.targets.service import ResolvedTarget, resolve_target
from store.ratings.experiment_json import parse_method
from store.suites.suites import Cell

SHARED_WITH_A_RATING = ("seed", "max_age_s", "visibility", "callback_url", "deadline_s", "max_calls")
"""Fields of a suite's request that are copied to the request for each of its ratings."""

SET_BY_THE_SUITE = ("method", "attribute", "languages")
"""Fields of an experiment that the suite sets for each cell."""


@dataclass(frozen=True)
class OmittedCell:
    """A combination of method, attribute and language that cannot be rated: why, and the invalid field, if known."""

    cell: Cell
    reason: str
    field: str | None
    service: int = 0

    def as_json(self) -> JsonObject:
        """Return the JSON that is stored with the suite."""
        return {**vars(self.cell), "reason": self.reason, "service": self.service}


@dataclass(frozen=True)
class PlannedCell:
    """A valid combination of method, attribute and language (`cell`), the index of its service, and its job's order."""

    service: int
    cell: Cell
    order: Order


@dataclass(frozen=True)
class Plan:
    """The jobs that a suite will create, service by service, and the combinations that cannot be rated (`omitted`)."""

    request: Json
    targets: tuple[ResolvedTarget, ...]
    planned: tuple[PlannedCell, ...]
    omitted: tuple[OmittedCell, ...]
    several: bool
    """Whether the request has ``targets`` (a list, even of one service) instead of ``target``."""


async def plan_suite(service: Service, caller: Caller, body: SuiteRequest, *, recurring: bool = False) -> Plan:
    """Plan a suite: an order for a job per valid cell (method, attribute, language); `recurring`: for a schedule.

    Raise `Problem` or `SpecificationError` if a target's description is invalid, there are too many cells, or no valid
    cell has a method, attribute, language or setting that the request names.
    """
    for field in ("methods", "attributes", "languages"):
        if (names := getattr(body, field)) is not None:
            refuse_repeats(field, names)
    descriptions = [body.target] if body.targets is None else body.targets
    if recurring and body.targets is not None:
        raise SpecificationError("a schedule has one target; create a schedule for each", "targets")
    targets: list[ResolvedTarget] = []
    planned_cells: list[PlannedCell] = []
    omissions: list[OmittedCell] = []
    settings_bytes = {method: len(write_json(settings)) for method, settings in body.settings.items()}
    suite_bytes = 0
    for index, description in enumerate(descriptions):
        assert description is not None  # noqa: S101  checked by the schema
        where: tuple[str | int, ...] = ("target",) if body.targets is None else ("targets", index)
        targets.append(target := await resolve_target(service, caller, description, *where))
        target_bytes = len(write_json(target.descriptor))
        for cell in _allowed_cells(body, Kind(target.descriptor["kind"]), len(planned_cells) + len(omissions)):
            await asyncio.sleep(0)  # lets other requests run between cells, because each cell computes for 1-2 ms
            suite_bytes += target_bytes + settings_bytes.get(cell.method, 0)
            _refuse_oversize(suite_bytes, planned_cells, omissions)  # before the work of planning the cell
            outcome = await _order_of_cell(service, caller, body, cell, description, target, recurring=recurring)
            if isinstance(outcome, OmittedCell):
                omissions.append(replace(outcome, service=index))
            else:
                suite_bytes += len(write_json(outcome.job.experiment or {}))
                _refuse_oversize(suite_bytes, planned_cells, omissions)
                planned_cells.append(PlannedCell(index, cell, order=outcome))
    _refuse_unused_names(body, [planned_cell.cell for planned_cell in planned_cells], omissions)
    has_several = body.targets is not None
    return Plan(as_asked(body), tuple(targets), tuple(planned_cells), tuple(omissions), several=has_several)


def _refuse_oversize(size: int, *before: Sequence[object]) -> None:
    """Refuse a suite if `size`, the bytes of all cells so far, is too large; `before` has the earlier cells.

    The first cell is never refused; each cell has the limit `service.jobs.service.MAX_EXPERIMENT_BYTES` as well.
    """
    if size > MAX_SUITE_BYTES and (earlier_count := sum(map(len, before))):
        reason = f"the first {earlier_count + 1} cells hold {size:,} bytes, and {MAX_SUITE_BYTES:,} are allowed for all"
        raise OutOfBounds(f"{reason}: send several suites, or leave out long lists")


def _allowed_cells(body: SuiteRequest, kind: Kind, earlier_count: int) -> list[Cell]:
    """Return a service's cells (method, attribute, language); refuse too many; `earlier_count`: those of others."""
    cells = [
        Cell(method_name(method), attribute, label=language)
        for method in _requested_methods(body, kind)
        for attribute in body.attributes or USUAL  # the default attributes
        for language in _languages_of_method(body, method)
    ]
    if len(cells) > MAX_CELLS or earlier_count + len(cells) > MAX_SUITE_CELLS:
        limits = f"{MAX_CELLS} are allowed for a service, and {MAX_SUITE_CELLS} for all"
        raise OutOfBounds(f"the suite has {earlier_count + len(cells)} cells; at most {limits}")
    return cells


def as_asked(body: SuiteRequest | RatingRequest) -> JsonObject:
    """Return the JSON of a request, without the target's secret."""
    secrets: Any = {"target": {"secret"}, "targets": {"__all__": {"secret"}}}
    request: JsonObject = body.model_dump(mode="json", exclude=secrets)
    return request


def _requested_methods(body: SuiteRequest, kind: Kind) -> list[type[AnyMethod]]:
    """Return those methods that the request names (default: all methods) and that can rate this kind of service."""
    methods_by_name = {method_name(method): method for method in every_method()}
    if body.methods is None:
        return [method for method in every_method() if kind in method.kinds]
    for index, name in enumerate(body.methods):
        if name not in methods_by_name:
            raise UnknownName("method", name, methods_by_name, f"methods.{index}")
        if kind not in methods_by_name[name].kinds and body.targets is None:
            kinds = " or a ".join(sorted(methods_by_name[name].kinds))
            raise SpecificationError(f"{name} can rate a {kinds}, but this target is a {kind}", f"methods.{index}")
    return [methods_by_name[name] for name in body.methods if kind in methods_by_name[name].kinds]


def _languages_of_method(body: SuiteRequest, method: type[AnyMethod]) -> list[str]:
    """Return the languages of a method's cells; a list with one empty text if the method has no languages."""
    # the default value of the method's field; absent if the method has no languages
    default_languages: tuple[str, ...] | None = getattr(method, "languages", None)
    return [""] if default_languages is None else list(body.languages or default_languages)


def _experiment_of_cell(body: SuiteRequest, cell: Cell) -> dict[str, Any]:
    """Return a cell's experiment as JSON, as in a request for a single rating."""
    common_fields = {name: getattr(body, name) for name in ("confidence", "delta") if getattr(body, name) is not None}
    cell_fields = {"method": cell.method, "attribute": cell.attribute}
    language_field = {"languages": [cell.label]} if cell.label else {}
    return common_fields | dict(body.settings.get(cell.method, {})) | cell_fields | language_field


async def _order_of_cell(
    service: Service,
    caller: Caller,
    body: SuiteRequest,
    cell: Cell,
    target_request: TargetDescription | TargetReference,
    target: ResolvedTarget,
    *,
    recurring: bool,
) -> Order | OmittedCell:
    """Return the order for a cell's rating, or the reason why the cell is invalid for its target and is omitted."""
    try:
        method = parse_method(_experiment_of_cell(body, cell))
    except SpecificationError as error:
        return OmittedCell(cell, str(error), error.field)
    shared_fields = {name: getattr(body, name) for name in SHARED_WITH_A_RATING}
    request = RatingRequest(target=target_request, experiment=method, **shared_fields)
    try:
        return await rating_order(service, caller, request, target, recurring=recurring)
    except Problem as problem:
        if problem.kind.code != "bad-specification":
            raise
        return OmittedCell(cell, problem.detail, _experiment_field_of(problem))


def _experiment_field_of(problem: Problem) -> str | None:
    """Return the field of the experiment that a problem names; ``None`` if it names none."""
    pointer = str(problem.errors[0].get("pointer", "")) if problem.errors else ""
    return pointer.removeprefix("/experiment/").replace("/", ".") if pointer.startswith("/experiment/") else None


def _refuse_unused_names(body: SuiteRequest, cells: list[Cell], omitted: list[OmittedCell]) -> None:
    """Refuse a requested method, attribute, language or setting that no valid cell uses; the error says why."""
    methods = {omission.cell.method for omission in omitted} | {cell.method for cell in cells}
    for method, settings in body.settings.items():
        with located("settings", method):
            if method not in methods:
                raise SpecificationError(f"the suite has no cell for {method!r}; it has {', '.join(sorted(methods))}")
            for name in SET_BY_THE_SUITE:
                if name in settings:
                    raise SpecificationError(f"{name} is set by the suite, for each cell", name)
    for cell_field, request_field in (("method", "methods"), ("attribute", "attributes"), ("label", "languages")):
        for index, name in enumerate(getattr(body, request_field) or ()):
            if not any(getattr(cell, cell_field) == name for cell in cells):
                omissions = [omission for omission in omitted if getattr(omission.cell, cell_field) == name]
                with located(*_path_of_cause(body, omissions, request_field, index)):
                    # without even an omitted cell: no method has languages, or the method rates no service of the suite
                    unused = f"the suite has no cell for {name!r}"
                    reason = "no method of this suite has languages" if request_field == "languages" else unused
                    raise SpecificationError(omissions[0].reason if omissions else reason)
    if not cells:
        with located(*_path_of_cause(body, omitted, "methods", index=None)):
            reason = f"none of {len(omitted)} cells can be rated; the first: {omitted[0].reason}" if omitted else ""
            raise SpecificationError(reason or "no method rates this kind of target")


def _path_of_cause(
    body: SuiteRequest, omissions: list[OmittedCell], unused_field: str, index: int | None
) -> tuple[str | int, ...]:
    """Return the request's path to the setting that made cells invalid, or else to the name that no cell uses."""
    if omissions and omissions[0].field:
        field, method = omissions[0].field.split(".")[0], omissions[0].cell.method
        if field in body.settings.get(method, {}):
            return "settings", method, field
        if field in {"confidence", "delta"}:
            return (field,)
    return (unused_field,) if index is None else (unused_field, index)


async def view_of_plan(service: Service, caller: Caller, plan: Plan, prices: Prices) -> SuitePlanView:
    """Return the view of a suite's plan: calls, time and cost of each cell, their sums, and the omitted cells."""
    facts = [await facts_of(service, caller, target, prices) for target in plan.targets]
    cells = []
    plans: dict[object, PlanView] = {}  # for many services with equal settings, each experiment is planned once
    for planned_cell in plan.planned:
        target_facts, job = facts[planned_cell.service], planned_cell.order.job
        plan_key = (json.dumps(job.experiment, sort_keys=True), job.max_calls, target_facts)
        if plan_key not in plans:
            cell_plan = await plan_order(planned_cell.order, target_facts)
            plans[plan_key] = PlanView.of(cell_plan, target_facts.questions_per_call)
        cell, target = planned_cell.cell, plan.targets[planned_cell.service].descriptor["name"]
        labels = {"target": target, "method": cell.method, "attribute": cell.attribute, "column": cell.label or None}
        cells.append(PlannedCellView(**dict(plans[plan_key]), **labels))
    omissions = [
        OmittedView.from_row(omission.cell, column=omission.cell.label or None, reason=omission.reason)
        for omission in plan.omitted
    ]
    at_most = EffortView(**_total([cell.at_most for cell in cells]))
    return SuitePlanView(**_total(cells), at_most=at_most, cells=cells, omitted=omissions)


def _total(efforts: Sequence[EffortView]) -> JsonObject:
    """Add up efforts; a sum is ``None`` if one of its parts is ``None``."""
    totals: JsonObject = {}
    for name in EffortView.model_fields:
        values = [getattr(effort, name) for effort in efforts]
        totals[name] = None if None in values else sum(values)
    return totals
