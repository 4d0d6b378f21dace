"""Steps of the wizard after the kind of service: the inputs of a step's page, and what it shows."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import Response

from assay.catalog.decisions import decisions
from service.http.problems import kind_named
from web.frame import segment
from web.wizard.answers import messages_by_input
from web.wizard.catalog import DECIDING_MODEL, KINDS, LIMITS, MORE
from web.wizard.request import WizardState, request_of
from web.wizard.schema_form import Field, text_of
from web.wizard.trials import last_test_job, plans_of


@dataclass(frozen=True)
class Step:
    """A step of the wizard: a page with a part of the form."""

    name: str
    inputs: Callable[[WizardState], Sequence[str]]
    """Lists the names of the inputs that the page shows."""
    context: Callable[[WizardState], Awaitable[dict[str, Any]]]
    """Reads the template's values that are not in the state."""

    async def show(self, state: WizardState) -> Response:
        """Render the page, with the errors beside their answers, and the API's refusal of the whole request."""
        context = await self.context(state)
        refusal = state.refused
        api_problem = refusal and {"detail": refusal.problem.get("detail"), "kind": kind_named(refusal.code)}
        return state.visit.page(
            f"wizard/{self.name}.html",
            422 if state.errors or refusal else 200,
            step=self.name,
            steps=STEPS,
            answers=state.answers,
            draft=f"/new/{state.visit.path('draft_id')}",
            material=state.material,
            kinds=KINDS,
            limits=LIMITS,
            more=MORE,
            wrong=messages_by_input(state.errors, state.material.inputs),
            refused=api_problem,
            text_of=text_of,
            **context,
        )


def _where_inputs(state: WizardState) -> Sequence[str]:
    """List the names of the inputs that describe a service; none for a saved service."""
    if state.answers["target"]:
        return []
    settings = _names_in(state.material.settings)
    return ["name", "base_url", "protocol", *settings, *(field.name for field in LIMITS)]


async def _where_context(state: WizardState) -> dict[str, Any]:
    """Return the saved service and the last test; preselect a decision to ask of a deciding model if none is named."""
    answers, api = state.answers, state.visit.api
    has_decision = any(name.startswith("settings.decision.") for name in answers)
    if answers["kind"] == DECIDING_MODEL and not has_decision:
        answers["settings.decision.name"] = decisions()[0]
    target = await api.get(f"/v1/targets/{segment(answers['target'])}") if answers["target"] else None
    return {"saved": target, "probe": await last_test_job(state)}


async def _what_context(state: WizardState) -> dict[str, Any]:
    """Return the possible authors and judges; choose the first attribute if an attribute is needed but missing."""
    answers = state.answers
    fields = {field.key: field for field in state.material.fields}
    attribute = fields.get("attribute")
    if attribute and attribute.default is None and attribute.options and not answers["experiment.attribute"]:
        answers["experiment.attribute"], _ = attribute.options[0]
    if state.material.shown_first:  # the form asks which decision the cases are for; by default, the one of the service
        answers.setdefault("experiment.texts.decision", answers["settings.decision.name"])
    authors: list[Any] = []
    if fields.keys() & {"writing", "drawing"}:  # an author writes or draws the cases
        authors = await state.visit.api.items("/v1/targets", kind="language-model", limit=200)
    judges: list[Any] = []
    for kind in ("classifier", "regressor") if "judge" in fields else ():
        judges += await state.visit.api.items("/v1/targets", kind=kind, limit=200)
    return {"authors": authors, "judges": judges}


async def _plan_context(state: WizardState, *, all_sizes: bool) -> dict[str, Any]:
    """Plan the request unless its answers were refused; return the plans, the last test and the request's body."""
    probe = await last_test_job(state)
    is_refused = state.errors or state.refused
    plans = [] if is_refused else await plans_of(state, probe, all_sizes=all_sizes)
    body, _ = request_of(state)
    return {"plans": plans, "probe": probe, "body": body}


def _names_in(fields: Sequence[Field]) -> list[str]:
    """List the names of fields and of all their parts."""
    return [name for field in fields for name in (field.name, *_names_in(field.parts))]


SIZE_INPUTS = ("size", "price_per_call", "price_per_1000_characters")

STEP_BY_NAME: Mapping[str, Step] = {
    step.name: step
    for step in (
        Step("where", _where_inputs, _where_context),
        Step("what", lambda state: ["method", "author", "judge", *_names_in(state.material.fields)], _what_context),
        Step("sure", lambda _: SIZE_INPUTS, partial(_plan_context, all_sizes=True)),
        Step("confirm", lambda _: [field.name for field in MORE], partial(_plan_context, all_sizes=False)),
    )
}
"""Steps of the wizard after the kind of service, in order: where it is, what is measured, how sure, confirmation."""

STEPS = ("kind", *STEP_BY_NAME)
"""Names of the steps, in order."""
