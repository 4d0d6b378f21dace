"""``/new``: five steps of one form. Earlier answers travel as hidden fields; nothing is kept on the server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from starlette.responses import Response

from service.http.problems import Problem, kind_named
from web.frame import Pages, Refused, Visit, segment
from web.frame.form import Form
from web.frame.visit import fields as texts_of
from web.wizard.answers import Answers, Errors, by_name, request_of, settle, step_of
from web.wizard.catalog import KINDS, LIMITS, MORE, Material, material_for
from web.wizard.earlier import answers_from
from web.wizard.plans import planned
from web.wizard.probing import newest_probe, tested
from web.wizard.schema_form import text_of

pages = Pages()

STEPS = ("kind", "where", "what", "sure", "confirm")
IN_FLIGHT_S = 0.25
MOST_WAITS = 120


@pages.get("/new")
async def new(visit: Visit) -> Response:
    """Ask for the kind of service, or start with the answers of an earlier rating, a job or a saved target."""
    answers = await answers_from(visit.api, **{name: visit.query(name) for name in ("rating", "job", "target")})
    if answers is None:
        saved = await visit.api.get("/v1/targets", limit=12)
        return visit.page("wizard/kind.html", kinds=KINDS, saved=saved["items"], chosen=visit.query("kind"))
    return await _step(visit, "where", answers)


@pages.post("/new", "jobs:write")
async def go_on(visit: Visit) -> Response:
    """Read the answers of a step, and show the next step or send the request."""
    form = await visit.form()
    answers = _answers(form)
    go = form.get("go", "where")
    if go not in (*STEPS, "describe", "probe", "post"):
        raise Problem("invalid-request", f"the form has no step {go[:40]!r}")
    if answers["kind"] not in KINDS or go == "kind":
        saved = await visit.api.get("/v1/targets", limit=12)
        return visit.page(
            "wizard/kind.html", kinds=KINDS, saved=saved["items"], chosen=answers["kind"], answers=answers
        )
    if go == "describe":
        answers.forget("target")
        go = "where"
    if go == "post":
        return await _request(visit, answers, form.get("request"))
    return await _step(visit, go, answers)


def _answers(form: Form) -> Answers:
    """Return the answers of a form. Languages have several inputs of one name."""
    texts = dict(texts_of(form))
    languages = form.getlist("experiment.languages")
    if languages:
        codes = (code.strip() for text in languages for code in text.replace(",", "\n").splitlines())
        texts["experiment.languages"] = "\n".join(dict.fromkeys(code for code in codes if code))
    return Answers({name: text for name, text in texts.items() if name not in {"go", "step", "request"}})


async def _material(visit: Visit, answers: Answers) -> Material:
    material = await material_for(
        visit.api, answers["kind"], answers["protocol"], answers["method"], answers["earlier"]
    )
    settle(visit, answers, material)
    return material


async def _step(visit: Visit, go: str, answers: Answers) -> Response:
    """Show a step or, if earlier answers are wrong, the step with the wrong answers."""
    material = await _material(visit, answers)
    if go == "probe":
        job, errors, refused = await tested(visit, answers, material)
        return await _where(visit, answers, material, errors, refused, job)
    if go == "where":
        return await _where(visit, answers, material)
    body, errors = request_of(visit, answers, material)
    if any(STEPS.index(_step_with(error, material)) < STEPS.index(go) for error in errors):
        return await _wrong(visit, answers, material, errors)
    if go == "what":
        return await _what(visit, answers, material, [])
    try:
        probe = await newest_probe(visit, answers, material)
        plans = await planned(visit, answers, material, probe, all_sizes=go == "sure")
    except Refused as refused:
        return await _wrong(visit, answers, material, refused.errors, refused)
    context: dict[str, Any] = {"plans": plans, "probe": probe, "body": body}
    if go == "sure":
        return _page(visit, "sure", answers, material, visible=["size", *PRICES], **context)
    return _page(
        visit, "confirm", answers, material, visible=[field.name for field in MORE], request=uuid4().hex, **context
    )


PRICES = ("price_per_call", "price_per_1000_characters")


async def _where(
    visit: Visit,
    answers: Answers,
    material: Material,
    errors: Errors | None = None,
    refused: Refused | None = None,
    job: Mapping[str, Any] | None = None,
) -> Response:
    saved = None
    if answers["target"]:
        saved = await visit.api.get(f"/v1/targets/{segment(answers['target'])}")
    if job is None:
        job = await newest_probe(visit, answers, material)
    inner = [part.name for field in material.settings for part in _with_parts(field)]
    visible = [] if saved else ["name", "base_url", "protocol", *inner, *(limit.name for limit in LIMITS)]
    return _page(visit, "where", answers, material, errors or [], refused, visible, saved=saved, probe=job)


async def _what(
    visit: Visit,
    answers: Answers,
    material: Material,
    errors: Sequence[Mapping[str, str]],
    refused: Refused | None = None,
) -> Response:
    attribute = next((field for field in material.fields if field.key == "attribute"), None)
    if (
        attribute is not None
        and attribute.default is None
        and not answers["experiment.attribute"]
        and attribute.options
    ):
        answers.texts["experiment.attribute"] = attribute.options[0][0]
    authors: list[Any] = []
    if any(field.key in {"writing", "drawing"} for field in material.fields):
        authors = (await visit.api.get("/v1/targets", kind="language-model", limit=200))["items"]
    visible = ["method", "author", *[part.name for field in material.fields for part in _with_parts(field)]]
    return _page(visit, "what", answers, material, errors, refused, visible, authors=authors)


async def _wrong(
    visit: Visit,
    answers: Answers,
    material: Material,
    errors: Sequence[Mapping[str, str]],
    refused: Refused | None = None,
) -> Response:
    """Show the earliest step with refused answers, with an error beside each field."""
    step = min([_step_with(error, material) for error in errors], key=STEPS.index, default="confirm")
    if step == "where":
        return await _where(visit, answers, material, list(map(dict, errors)), refused)
    if step == "what":
        return await _what(visit, answers, material, errors, refused)
    probe = await newest_probe(visit, answers, material)
    body, _ = request_of(visit, answers, material)
    context: dict[str, Any] = {"plans": [], "probe": probe, "body": body, "request": uuid4().hex}
    return _page(visit, "confirm", answers, material, errors, refused, [field.name for field in MORE], **context)


def _step_with(error: Mapping[str, str], material: Material) -> str:
    return step_of(next(iter(by_name([error], material.inputs)), ""))


async def _request(visit: Visit, answers: Answers, key: str) -> Response:
    """Send the request with the page's idempotency key, so that a second click finds the job of the first."""
    material = await _material(visit, answers)
    body, errors = request_of(visit, answers, material)
    if errors:
        return await _wrong(visit, answers, material, errors)
    for _ in range(MOST_WAITS):
        try:
            answer = await visit.api.ask("POST", "/v1/jobs", body=body, headers={"idempotency-key": key or uuid4().hex})
            return visit.redirect(f"/jobs/{answer.document['id']}")
        except Refused as refused:
            if refused.code != "idempotency-in-flight":
                return await _wrong(visit, answers, material, refused.errors, refused)
            await asyncio.sleep(IN_FLIGHT_S)
    raise Refused(409, {"code": "idempotency-in-flight"}, visit.request.headers)


def _page(
    visit: Visit,
    step: str,
    answers: Answers,
    material: Material,
    errors: Sequence[Mapping[str, str]] = (),
    refused: Refused | None = None,
    visible: Sequence[str] = (),
    **more: Any,
) -> Response:
    wrong = by_name(errors, material.inputs)
    return visit.page(
        f"wizard/{step}.html",
        422 if errors or refused else 200,
        step=step,
        steps=STEPS,
        answers=answers,
        hidden=answers.hidden(visible),
        material=material,
        kinds=KINDS,
        limits=LIMITS,
        more=MORE,
        wrong=wrong,
        refused=None
        if refused is None
        else {"detail": refused.problem.get("detail"), "kind": kind_named(refused.code)},
        text_of=text_of,
        **more,
    )


def _with_parts(field: Any) -> list[Any]:
    return [field, *(inner for part in field.parts for inner in _with_parts(part))]
