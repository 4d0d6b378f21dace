"""``/new``: five steps of one form. Earlier answers travel as hidden fields; nothing is kept on the server."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from starlette.responses import Response

from service.http.problems import Problem
from web.frame import Pages, Refused, Visit
from web.wizard.answers import Answers, answers_from
from web.wizard.catalog import KINDS, material_for
from web.wizard.request import WizardState, request_of, settle
from web.wizard.steps import STEP_BY_NAME, STEPS, step_with
from web.wizard.trials import tested

pages = Pages()

IN_FLIGHT_S = 0.25
MOST_WAITS = 120


@pages.get("/new")
async def new(visit: Visit) -> Response:
    """Ask for the kind of service, or start with the answers of an earlier rating, a job or a saved target."""
    answers = await answers_from(visit.api, **{name: visit.query(name) for name in ("rating", "job", "target")})
    if answers is None:
        return await _kinds(visit, visit.query("kind"), Answers())
    return await _show(visit, "where", answers)


@pages.post("/new", "jobs:write")
async def go_on(visit: Visit) -> Response:
    """Read the answers of a step, and show the next step or send the request."""
    answers, form = _answers(visit), visit.form
    go = form.get("go", "where")
    if go not in (*STEPS, "describe", "probe", "post"):
        raise Problem("invalid-request", f"the form has no step {go[:40]!r}")
    if answers["kind"] not in KINDS or go == "kind":
        return await _kinds(visit, answers["kind"], answers)
    if go == "describe":
        answers.forget("target")
        go = "where"
    if go == "post":
        return await _request(visit, answers, form.get("request"))
    return await _show(visit, go, answers)


def _answers(visit: Visit) -> Answers:
    """Return the answers of a form. Languages have several inputs of one name."""
    texts = dict(visit.typed)
    languages = visit.form.getlist("experiment.languages")
    if languages:
        codes = (code.strip() for text in languages for code in text.replace(",", "\n").splitlines())
        texts["experiment.languages"] = "\n".join(dict.fromkeys(code for code in codes if code))
    return Answers({name: text for name, text in texts.items() if name not in {"go", "step", "request"}})


async def _kinds(visit: Visit, chosen: str, answers: Answers) -> Response:
    """Show the first step: the kinds of service, and the saved services."""
    saved = await visit.api.get("/v1/targets", limit=12)
    return visit.page("wizard/kind.html", kinds=KINDS, saved=saved["items"], chosen=chosen, answers=answers)


async def _state(visit: Visit, answers: Answers) -> WizardState:
    """Read the choices for the answers, and settle the answers that depend on them."""
    state = WizardState(visit, answers, await material_for(visit.api, answers.texts))
    settle(state)
    return state


async def _show(visit: Visit, go: str, answers: Answers) -> Response:
    """Show a step or, if earlier answers are wrong, the step with the wrong answers."""
    state = await _state(visit, answers)
    if go == "probe":
        return await STEP_BY_NAME["where"].show(await tested(state))
    if go == "where":
        return await STEP_BY_NAME["where"].show(state)
    _, errors = request_of(state)
    if any(STEPS.index(step_with(error, state.material)) < STEPS.index(go) for error in errors):
        return await _show_errors(state.with_errors(errors))
    if go == "what":
        return await STEP_BY_NAME["what"].show(state)
    try:
        return await STEP_BY_NAME[go].show(state)
    except Refused as refused:
        return await _show_errors(state.with_errors(refused.errors, refused))


async def _show_errors(state: WizardState) -> Response:
    """Show the earliest step with refused answers."""
    names = [step_with(error, state.material) for error in state.errors]
    return await STEP_BY_NAME[min(names, key=STEPS.index, default="confirm")].show(state)


async def _request(visit: Visit, answers: Answers, key: str) -> Response:
    """Send the request with the page's idempotency key, so that a second click finds the job of the first."""
    state = await _state(visit, answers)
    body, errors = request_of(state)
    if errors:
        return await _show_errors(state.with_errors(errors))
    headers = {"idempotency-key": key or uuid4().hex}
    for _ in range(MOST_WAITS):
        try:
            answer = await visit.api.ask("POST", "/v1/jobs", body=body, headers=headers)
            return visit.redirect(f"/jobs/{answer.document['id']}")
        except Refused as refused:
            if refused.code != "idempotency-in-flight":
                return await _show_errors(state.with_errors(refused.errors, refused))
            await asyncio.sleep(IN_FLIGHT_S)
    raise Refused(409, {"code": "idempotency-in-flight"}, visit.request.headers)
