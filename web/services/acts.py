"""Actions on a service: rate it again, save, change or remove it, and prove control of its host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit, segment
from web.services.service import read_service
from web.wizard.answers import Answers, by_name, described
from web.wizard.catalog import LIMITS
from web.wizard.schema_form import Field, fields_of, text_of, written

pages = Pages()

WAIT_S = 20
"""Seconds for which the page waits for the check of a host."""


@pages.post("/services/{id}/rate", "jobs:write")
async def rate_again(visit: Visit) -> Response:
    """Repeat a rating of the service."""
    rated_service = await read_service(visit, visit.path("id"))
    rating = await visit.api.get(f"/v1/ratings/{segment(visit.form.get('rating'))}")
    body = {"target": rated_service.description, "experiment": rating["experiment"]}
    return visit.redirect(f"/jobs/{(await visit.api.post('/v1/jobs', body))['id']}")


@pages.post("/services/{id}/save", "targets:write")
async def save(visit: Visit) -> Response:
    """Save a rated service, with its secret if it needs one."""
    rated_service = await read_service(visit, visit.path("id"))
    secret = visit.typed.get("secret")
    body = rated_service.description | ({"secret": secret} if secret else {})
    return visit.redirect(f"/services/{(await visit.api.post('/v1/targets', body))['id']}")


@pages.get("/services/{id}/edit")
async def edit(visit: Visit) -> Response:
    """Show the form that changes a saved service."""
    saved = await visit.api.get(f"/v1/targets/{visit.path('id')}")
    settings, refused = await _settings_of(visit, saved), visit.refused
    wrong = by_name(refused.errors, (*settings, *LIMITS)) or {"": str(refused.problem["detail"])} if refused else {}
    return visit.page(
        "services/edit.html",
        saved=saved,
        settings=settings,
        limits=LIMITS,
        answers=Answers(dict(visit.typed or _written(saved, settings))),
        text_of=text_of,
        wrong=wrong,
    )


@pages.post("/services/{id}/edit", "targets:write", again=edit)
async def change(visit: Visit) -> Response:
    """Change a saved service. Its secret stays unless another is sent."""
    target_id, typed = visit.path("id"), visit.typed
    saved = await visit.api.get(f"/v1/targets/{target_id}")
    body, wrong = described(typed, saved["kind"], saved["protocol"], await _settings_of(visit, saved))
    if wrong:
        raise Refused.unreadable(wrong)
    if typed.get("forget") or typed.get("secret"):
        body["secret"] = None if typed.get("forget") else typed["secret"]
    await visit.api.ask("PUT", f"/v1/targets/{target_id}", body=body)
    return visit.redirect(f"/services/{target_id}")


pages.act("/services/{id}/remove", "targets:write", "DELETE", "/v1/targets/{id}", "/services")


@pages.post("/services/{id}/claim", "targets:write")
async def claim(visit: Visit) -> Response:
    """Claim the host of a service."""
    await visit.api.ask("POST", "/v1/domains", body={"host": visit.form.get("host", "")})
    return visit.redirect(f"/services/{visit.path('id')}#owner")


@pages.post("/services/{id}/verify", "targets:write")
async def verify(visit: Visit) -> Response:
    """Request a check of the challenge on the host of a service."""
    domain = visit.form.get("domain", "")
    await visit.api.ask("POST", f"/v1/domains/{segment(domain)}/verify", headers={"prefer": f"wait={WAIT_S}"})
    return visit.redirect(f"/services/{visit.path('id')}#owner")


async def _settings_of(visit: Visit, saved: Mapping[str, Any]) -> Sequence[Field]:
    """Return the settings of a service's protocol as form fields."""
    protocol = next(
        info for info in (await visit.api.get("/v1/protocols"))["items"] if info["name"] == saved["protocol"]
    )
    return fields_of(protocol["settings_schema"], "settings", as_json=True)


def _written(saved: Mapping[str, Any], settings: Sequence[Field]) -> dict[str, str]:
    """Return the texts of the form for a saved service."""
    texts = {"name": saved["name"], "base_url": saved["base_url"] or ""}
    for name, group in (("settings", settings), ("limits", LIMITS)):
        for field in group:
            if field.key in saved[name]:
                texts |= written(field, saved[name][field.key])
    return texts
