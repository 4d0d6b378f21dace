"""What one does with a service: rate it again, save, change or remove it, show that its host is yours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit
from web.frame.visit import fields
from web.services.service import read_service

pages = Pages()

WAIT_S = 20
"""Seconds for which the page waits for the check of a host."""


@pages.post("/services/{id}/rate")
async def rate_again(visit: Visit) -> Response:
    """Measure anew what a rating of the service measured."""
    found = await read_service(visit, visit.path("id"))
    rating = await visit.api.get(f"/v1/ratings/{(await visit.form()).get('rating', '')}")
    body = {"target": found.description, "experiment": rating["experiment"], "seed": rating["seed"]}
    answer = await visit.api.ask("POST", "/v1/jobs", body=body)
    return visit.redirect(f"/jobs/{answer.document['id']}")


@pages.post("/services/{id}/save")
async def save(visit: Visit) -> Response:
    """Save a rated service, with its secret if it needs one."""
    found = await read_service(visit, visit.path("id"))
    secret = fields(await visit.form()).get("secret")
    body = found.description | ({"secret": secret} if secret else {})
    answer = await visit.api.ask("POST", "/v1/targets", body=body)
    return visit.redirect(f"/services/{answer.document['id']}")


@pages.get("/services/{id}/edit")
async def edit(visit: Visit) -> Response:
    """Show the form that changes a saved service."""
    saved = await visit.api.get(f"/v1/targets/{visit.path('id')}")
    return _form(visit, saved, _written(saved), {})


@pages.post("/services/{id}/edit")
async def change(visit: Visit) -> Response:
    """Change a saved service. Its secret stays unless another is sent."""
    target_id = visit.path("id")
    saved = await visit.api.get(f"/v1/targets/{target_id}")
    form = fields(await visit.form())
    try:
        await visit.api.ask("PUT", f"/v1/targets/{target_id}", body=_description(saved, form))
    except ValueError:
        return _form(visit, saved, form, {"settings": "This is not JSON."}, 422)
    except Refused as refused:
        wrong = {(one.get("pointer") or "").lstrip("/").partition("/")[0]: one["detail"] for one in refused.errors}
        return _form(visit, saved, form, wrong or {"": str(refused.problem.get("detail"))}, refused.status)
    return visit.redirect(f"/services/{target_id}")


@pages.post("/services/{id}/remove")
async def remove(visit: Visit) -> Response:
    """Remove a saved service and its secret; its ratings stay."""
    await visit.api.ask("DELETE", f"/v1/targets/{visit.path('id')}")
    return visit.redirect("/services")


@pages.post("/services/{id}/claim")
async def claim(visit: Visit) -> Response:
    """Say that the host of a service is yours."""
    host = (await visit.form()).get("host", "")
    await visit.api.ask("POST", "/v1/domains", body={"host": host})
    return visit.redirect(f"/services/{visit.path('id')}#owner")


@pages.post("/services/{id}/verify")
async def verify(visit: Visit) -> Response:
    """Look for the challenge on the host of a service."""
    domain = (await visit.form()).get("domain", "")
    await visit.api.ask("POST", f"/v1/domains/{domain}/verify", headers={"prefer": f"wait={WAIT_S}"})
    return visit.redirect(f"/services/{visit.path('id')}#owner")


def _written(saved: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of the form for a saved service."""
    limits = {name: "" if value is None else str(value) for name, value in saved["limits"].items()}
    settings = json.dumps(saved["settings"], indent=2, ensure_ascii=False)
    return {"name": saved["name"], "base_url": saved["base_url"] or "", "settings": settings, **limits}


def _description(saved: Mapping[str, Any], form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of ``PUT /v1/targets/{id}``; raise `ValueError` if a field cannot be read."""
    limits = {name: float(form[name]) for name in ("requests_per_second", "timeout_s") if form.get(name)}
    description = {
        "name": form.get("name") or None,
        "kind": saved["kind"],
        "protocol": saved["protocol"],
        "base_url": form.get("base_url") or None,
        "settings": json.loads(form.get("settings") or "{}"),
        "limits": limits | ({"concurrency": int(form["concurrency"])} if form.get("concurrency") else {}),
    }
    if form.get("forget"):
        return description | {"secret": None}
    return description | ({"secret": form["secret"]} if form.get("secret") else {})


def _form(
    visit: Visit, saved: Mapping[str, Any], form: Mapping[str, str], wrong: Mapping[str, str], status: int = 200
) -> Response:
    return visit.page("services/edit.html", status, saved=saved, form=form, wrong=wrong)
