"""``/new``: five steps of one form. The answers are a draft, whose id is in the address of each step."""

import asyncio
import json
from typing import Any

from starlette.responses import Response

from assay.document import JsonObject
from service.container import service_of
from service.http.problems import Problem, not_found
from web.frame import Pages, Refused, Visit
from web.frame.drafts import read_draft, store_draft
from web.wizard.answers import Answers, answers_from, name_of, step_of
from web.wizard.catalog import KINDS, material_for
from web.wizard.request import WizardState, request_of, settle
from web.wizard.steps import STEP_BY_NAME, STEPS
from web.wizard.trials import run_probe

pages = Pages()

IN_FLIGHT_S, MOST_WAITS = 0.25, 120
"""Seconds of a wait for the answer to an equal request that was sent before, and maximum number of such waits."""


@pages.get("/new")
async def new(visit: Visit) -> Response:
    """Ask for the kind of service, or start with the answers of an earlier rating, a job or a saved target."""
    answers = await answers_from(visit.api, **{name: visit.query(name) for name in ("rating", "job", "target")})
    if answers is None:
        return await _show_kinds(visit, visit.query("kind"))
    return await _go_to_step(visit, await _read_state(visit, answers), "where")


@pages.post("/new", "jobs:write")
async def begin(visit: Visit) -> Response:
    """Begin a draft with the kind of service."""
    return await _accept_kind(visit, Answers())


async def _accept_kind(visit: Visit, answers: Answers) -> Response:
    """Go on with the chosen kind of service, or ask again if the form has no such kind."""
    kind = visit.form.get("kind")
    if kind not in KINDS:
        return visit.redirect("/new")
    answers["kind"] = kind
    return await _go_to_step(visit, await _read_state(visit, answers), "where")


@pages.get("/new/{draft_id}/{step}")
async def show(visit: Visit) -> Response:
    """Show a step with the answers of a draft or, if earlier answers are wrong, the step with the wrong answers."""
    step = visit.path("step")
    content = await _read_draft(visit)
    answers = Answers(content["texts"])
    if step == "kind":
        return await _show_kinds(visit, answers["kind"], f"/new/{visit.path('draft_id')}")
    state = await _read_state(visit, answers)
    if content.get("refused_at") == step:  # `_go_to_step` stored what is wrong in this step
        refusal = content["refused"] and Refused(**content["refused"])
        return await STEP_BY_NAME[step].show(state.with_errors(content["errors"], refusal))
    if step == "where":  # no step with answers is earlier
        return await STEP_BY_NAME["where"].show(state)
    _, errors = request_of(state)
    if _earliest_wrong_step(state.with_errors(errors), step) != step:
        return await _show_errors(state.with_errors(errors))
    try:
        return await STEP_BY_NAME[step].show(state)
    except Refused as refusal:
        return await _show_errors(state.with_errors(refusal.errors, refusal))


@pages.post("/new/{draft_id}/{step}", "jobs:write")
async def go_on(visit: Visit) -> Response:
    """Add the answers of a step to the draft, and go to another step, test the service or send the request."""
    step, action = visit.path("step"), visit.form.get("go", "where")
    if action not in (*STEPS, "describe", "probe", "post"):
        raise Problem("invalid-request", f"the form has no step {action[:40]!r}")
    earlier_answers = Answers((await _read_draft(visit))["texts"])
    if step == "kind":
        return await _accept_kind(visit, earlier_answers)
    input_names = STEP_BY_NAME[step].inputs(await _read_state(visit, earlier_answers))
    other_texts = {name: text for name, text in earlier_answers.items() if name not in input_names}
    answers = Answers(other_texts | _form_texts(visit))
    if action == "describe":  # describe a service in place of the saved one
        answers.forget("target")
        action = "where"
    state = await _read_state(visit, answers)
    if action == "probe":
        return await _go_to_step(visit, await run_probe(state), "where")
    if action == "post":
        return await _send_request(visit, state)
    _, errors = request_of(state)
    refused_state = state.with_errors(errors)
    are_earlier_steps_valid = _earliest_wrong_step(refused_state, action) == action
    return await _go_to_step(visit, state if are_earlier_steps_valid else refused_state, action)


async def _read_draft(visit: Visit) -> JsonObject:
    """Return the draft with the id in the path; raise ``not-found`` without it, or if the path names no step."""
    content = await read_draft(visit, visit.path("draft_id"))
    if content is None or "texts" not in content or visit.path("step") not in STEPS:
        raise not_found("draft of yours: drafts are kept for a day", visit.path("draft_id"))
    return content


def _form_texts(visit: Visit) -> dict[str, str]:
    """Return the texts of a form by input; the languages, from several inputs of the same name, as lines."""
    texts = dict(visit.typed)
    if languages := visit.form.getlist("experiment.languages"):
        codes = (code.strip() for text in languages for code in text.replace(",", "\n").splitlines())
        texts["experiment.languages"] = "\n".join(dict.fromkeys(code for code in codes if code))
    return {name: text for name, text in texts.items() if name != "go"}  # the button


async def _show_kinds(visit: Visit, kind: str, draft: str = "") -> Response:
    """Show the first step: the kinds of service, and the saved services."""
    targets = await visit.api.items("/v1/targets", limit=12)
    return visit.page("wizard/kind.html", kinds=KINDS, saved=targets, chosen=kind, draft=draft)


async def _read_state(visit: Visit, answers: Answers) -> WizardState:
    """Read the choices that fit the answers, and remove answers that do not fit the choices (`settle`)."""
    state = WizardState(visit, answers, await material_for(visit.api, answers))
    settle(state)
    return state


async def _go_to_step(visit: Visit, state: WizardState, step: str) -> Response:
    """Store the answers, and go to a step or, if some are wrong, to the earliest step with wrong answers."""
    content: dict[str, Any] = {"texts": state.answers}
    if state.errors or state.refused:
        step = _earliest_wrong_step(state, step)
        refusal = state.refused
        problem = refusal and {"status": refusal.status, "problem": refusal.problem}
        content |= {"refused_at": step, "errors": list(state.errors), "refused": problem}
    draft_id = await store_draft(visit, content, visit.request.path_params.get("draft_id", ""))
    return visit.redirect(f"/new/{draft_id}/{step}")


def _earliest_wrong_step(state: WizardState, latest: str = "confirm") -> str:
    """Return the earliest step with refused answers, or `latest` if that is earlier."""
    names = [step_of(name_of(error.get("pointer", ""), state.material.inputs)) for error in state.errors]
    return min([*names, latest], key=STEPS.index)


async def _show_errors(state: WizardState) -> Response:
    return await STEP_BY_NAME[_earliest_wrong_step(state)].show(state)


async def _send_request(visit: Visit, state: WizardState) -> Response:
    """Send the request; if an equal request was sent from this draft before, redirect to that request's job."""
    body, errors = request_of(state)
    if errors:
        return await _go_to_step(visit, state.with_errors(errors), "confirm")
    request_text = f"{visit.path('draft_id')} {json.dumps(body, sort_keys=True)}"
    idempotency_key = service_of(visit.request).vault.mark(request_text)
    for _ in range(MOST_WAITS):
        try:
            answer = await visit.api.ask("POST", "/v1/jobs", body=body, headers={"idempotency-key": idempotency_key})
            return visit.redirect(f"/jobs/{answer.document['id']}")
        except Refused as error:
            if error.code != "idempotency-in-flight":
                return await _go_to_step(visit, state.with_errors(error.errors, error), "confirm")
            await asyncio.sleep(IN_FLIGHT_S)
    raise Refused(409, {"code": "idempotency-in-flight"})
