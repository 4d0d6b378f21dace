"""``/own-words/{corpus}``: step 2, in which sentences are written and reviewed, and step 3, the test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from web.corpora.review import review_of
from web.frame import Pages, Refused, Visit
from web.frame.visit import fields
from web.own_words.steps import Begun, begun
from web.own_words.target_form import protocols_for, settings_of, target_of, wrong_fields

pages = Pages()

METHODS = {"language-model": "stereotype-score", "image-classifier": "visual-stereotype"}
FAMILIES = {
    "nothing-else": "Nothing else in the sentence may tell the groups apart",
    "plain": "A sentence with both words",
    "in-context": "The other words of the lists explain what is meant",
}
"""Kinds of prompts, in words."""

ENDED = ("succeeded", "failed", "cancelled")


@pages.get("/own-words/{corpus_id}/sentences")
async def sentences(visit: Visit) -> Response:
    """Step 2: have sentences written, and review them."""
    return await _reviewed(visit, await begun(visit))


@pages.post("/own-words/{corpus_id}/writing")
async def write(visit: Visit) -> Response:
    """Have a model write the sentences that are lacking."""
    typed, now = fields(await visit.form()), await begun(visit)
    protocol = await _chosen(visit, "language-model", typed.get("protocol", ""))
    body: dict[str, Any] = {
        "author": target_of(typed, "language-model", protocol),
        "family": typed.get("family", "nothing-else"),
    }
    if typed.get("per_term"):
        body["per_term"] = _number(typed["per_term"])
    try:
        answer = await visit.api.ask("POST", f"/v1/corpora/{now.corpus['id']}/writing", body=body)
    except Refused as refused:
        return await _reviewed(visit, now, refused, typed)
    return visit.redirect(now.path("sentences"), **now.query, job=answer.document["id"])


@pages.get("/own-words/{corpus_id}/progress")
async def progress(visit: Visit) -> Response:
    """Show how far a writing job is; the page's script asks again and again."""
    return visit.page("own_words/progress.html", job=await _job(visit), now=await begun(visit))


@pages.post("/own-words/{corpus_id}/cancel")
async def cancel(visit: Visit) -> Response:
    """Cancel a writing job; what it has written stays."""
    now, typed = await begun(visit), fields(await visit.form())
    await visit.api.ask("POST", f"/v1/jobs/{typed.get('job', '')}/cancel")
    return visit.redirect(now.path("sentences"), **now.query, job=typed.get("job"))


@pages.get("/own-words/{corpus_id}/test")
async def choose_model(visit: Visit) -> Response:
    """Step 3: ask for the model. Without sentences there is nothing to test with."""
    return await _asked(visit, await begun(visit))


@pages.post("/own-words/{corpus_id}/test")
async def begin_test(visit: Visit) -> Response:
    """Request the rating, and go on to its job."""
    typed, now = fields(await visit.form()), await begun(visit)
    if not now.corpus["items"]:
        return await _asked(visit, now)
    protocol = await _chosen(visit, now.kind, typed.get("protocol", ""))
    experiment: dict[str, Any] = {"method": METHODS[now.kind], "corpus": now.corpus["id"]}
    if now.kind == "image-classifier":
        experiment["specification"] = now.specification
    if typed.get("per_term"):
        experiment["per_term"] = _number(typed["per_term"])
    body = {"target": target_of(typed, now.kind, protocol), "experiment": experiment}
    try:
        answer = await visit.api.ask(
            "POST", "/v1/jobs", body={**body, "visibility": typed.get("visibility", "private")}
        )
    except Refused as refused:
        return await _asked(visit, now, refused, typed)
    return visit.redirect(f"/jobs/{answer.document['id']}")


async def _reviewed(
    visit: Visit, now: Begun, refused: Refused | None = None, typed: Mapping[str, str] | None = None
) -> Response:
    values = await review_of(visit, now.corpus, now.words)
    if now.kind == "language-model" and now.corpus["own"]:
        values |= await _service(visit, "language-model", refused, typed)
    return visit.page(
        "own_words/sentences.html",
        refused.status if refused else 200,
        **values,
        now=now,
        refused=refused,
        families=FAMILIES,
        job=await _job(visit),
    )


async def _asked(
    visit: Visit, now: Begun, refused: Refused | None = None, typed: Mapping[str, str] | None = None
) -> Response:
    if not now.corpus["items"] or not now.specification:
        return visit.page("own_words/nothing.html", 409, now=now)
    values = await _service(visit, now.kind, refused, typed)
    return visit.page("own_words/test.html", refused.status if refused else 200, **values, now=now, refused=refused)


async def _service(visit: Visit, kind: str, refused: Refused | None, typed: Mapping[str, str] | None) -> dict[str, Any]:
    """Return what the fields of a service need."""
    chosen = (typed or {}).get("protocol") or visit.query("protocol")
    protocols = await protocols_for(visit, kind)
    protocol = next((one for one in protocols if one["name"] == chosen), protocols[0])
    saved = await visit.api.get("/v1/targets", kind=kind, limit=200)
    return {
        "kind": kind,
        "protocols": protocols,
        "protocol": protocol,
        "settings": settings_of(protocol, kind),
        "saved": saved["items"],
        "typed": typed or {},
        "wrong": wrong_fields(refused),
    }


async def _chosen(visit: Visit, kind: str, name: str) -> dict[str, Any]:
    protocols = await protocols_for(visit, kind)
    return next((one for one in protocols if one["name"] == name), protocols[0])


async def _job(visit: Visit) -> dict[str, Any] | None:
    job = visit.query("job")
    return dict(await visit.api.get(f"/v1/jobs/{job}")) if job else None


def _number(written: str) -> int | str:
    """Return a number; what is none is passed on, for the API to refuse."""
    return int(written) if written.strip().isdecimal() else written
