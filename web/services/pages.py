"""``/services`` and ``/services/{id}``: letters, history, schedules and badges of each service, and actions on it."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from assay.document import Json, JsonObject
from store.targets.domains import host_of
from web.frame import Pages, Refused, Visit, segment
from web.frame.visit import whole_number
from web.services.service import Service, find_rated, history_charts, read_matrix, read_service
from web.wizard.answers import Answers, messages_by_input, saved_second_services, target_from_texts
from web.wizard.catalog import LIMITS
from web.wizard.schema_form import Field, settings_fields, text_of, texts_of_values

pages = Pages()

ROWS, READ = 50, 200
"""Number of services on a page, and of saved ones that are read at once."""


@pages.get("/services")
async def services(visit: Visit) -> Response:
    """List saved services, and those that were rated without being saved, each with its newest letter."""
    query = {name: visit.query(name) for name in ("q", "kind", "cursor") if visit.query(name)}
    page = await visit.api.get("/v1/targets", **query, limit=READ)
    # each row is a saved target (``None`` if the service is not saved) and the service's newest rating
    rows = [(target, target["newest"]) for target in page["items"]]
    complete = False  # whether `rows` has all services of the caller
    if not page["next_cursor"] and not visit.query("cursor"):  # the page has all saved services
        rated_rows, complete = await find_rated(visit.api, q=query.get("q", ""), kind=query.get("kind", ""))
        digests = {target["digest"] for target in page["items"]}
        rows += [(None, row) for row in rated_rows if row["target"]["digest"] not in digests]
    start = whole_number(visit.query("start")) or 0  # number of skipped rows
    older = visit.older(page)
    if start + ROWS < len(rows):  # the page's other rows come before the next page of the API
        older = (f"/services?{urlencode({**query, 'start': start + ROWS})}", len(rows) if complete else None)
    similar = []
    if query.get("q") and not rows:
        similar = (await visit.api.get("/v1/ratings", q=query["q"], mine=True, limit=1))["similar"]
    return visit.page(
        "services/services.html",
        similar=similar,
        rows=rows[start : start + ROWS],
        complete=complete,
        chosen=query,
        older=older,
    )


@pages.get("/services/{id}")
async def service(visit: Visit) -> Response:
    """Show a service: its newest letters, its history, its schedules and its badges."""
    rated_service = await read_service(visit, visit.path("id"))
    schedules = await visit.api.items("/v1/schedules", limit=READ)
    return visit.page(
        "services/service.html",
        service=rated_service,
        matrix=await read_matrix(visit, rated_service.newest),
        lines=list(history_charts(rated_service.entries)) if rated_service.saved else [],
        schedules=[schedule for schedule in schedules if _concerns_service(schedule, rated_service)],
        badge=badge_of(visit, rated_service),
        **await domain_of(visit, rated_service),
    )


def badge_of(visit: Visit, rated_service: Service) -> dict[str, str] | None:
    """Return the badge's path, Markdown and HTML for a service; ``None`` for an unsaved service without an address."""
    base, address = visit.base_url, rated_service.target["base_url"]
    if rated_service.saved is not None:
        path = f"/v1/targets/{rated_service.id}/badge.svg"
    elif address:
        path = f"/v1/badge.svg?target_url={quote(address, safe='')}"
    else:
        return None
    registry_url = f"{base}/registry?{urlencode({'q': address or rated_service.target['name']})}"
    return {
        "path": path,
        "markdown": f"[![Bias rating]({base}{path})]({registry_url})",
        "html": f'<a href="{registry_url}"><img src="{base}{path}" alt="Bias rating"></a>',
    }


async def domain_of(visit: Visit, rated_service: Service) -> JsonObject:
    """Return the template's values: the `host` of a service, and the caller's claim of it as `domain`, if any."""
    address = rated_service.target["base_url"]
    host = host_of(address) if address else None
    claims = await visit.api.items("/v1/domains", limit=READ) if host else []
    return {"host": host, "domain": next((claim for claim in claims if claim["host"] == host), None)}


def _concerns_service(schedule: Json, rated_service: Service) -> bool:
    """Return whether a schedule rates or watches a service."""
    if (watch := schedule["watch"]) is None:
        request = schedule["request"]
        targets = [request.get("target"), *(request.get("targets") or ())]
        return rated_service.id in {target.get("id") for target in targets if target}
    return watch["target_id"] == rated_service.id or bool(watch["digest"] == rated_service.target["digest"])


WAIT_S = 20
"""Seconds for which the page waits for the check of a host."""


@pages.post("/services/{id}/rate", "jobs:write")
async def rate_again(visit: Visit) -> Response:
    """Repeat a rating of the service."""
    rated_service = await read_service(visit, visit.path("id"))
    rating = await visit.api.get(f"/v1/ratings/{segment(visit.form.get('rating'))}")
    if (second_services := await saved_second_services(visit.api, rating)) is None:  # author or judge: ask for its key
        return visit.redirect(f"/new?rating={segment(visit.form.get('rating'))}")
    body = {"target": rated_service.description, "experiment": rating["experiment"], **second_services}
    return visit.redirect(f"/jobs/{(await visit.api.post('/v1/jobs', body))['id']}")


@pages.post("/services/{id}/save", "targets:write")
async def save(visit: Visit) -> Response:
    """Save a rated service, with the secret in the form if there is any."""
    rated_service = await read_service(visit, visit.path("id"))
    secret = visit.typed.get("secret")
    body = rated_service.description | ({"secret": secret} if secret else {})
    return visit.redirect(f"/services/{(await visit.api.post('/v1/targets', body))['id']}")


@pages.get("/services/{id}/edit")
async def edit(visit: Visit) -> Response:
    """Show the form that changes a saved service."""
    target = await visit.api.get(f"/v1/targets/{visit.path('id')}")
    settings = await _settings_of(visit, target)
    refusal = visit.refused
    messages: dict[str, str] = {}
    if refusal is not None:
        messages = messages_by_input(refusal.errors, (*settings, *LIMITS)) or {"": str(refusal.problem["detail"])}
    return visit.page(
        "services/edit.html",
        saved=target,
        settings=settings,
        limits=LIMITS,
        answers=Answers(dict(visit.typed or _form_texts(target, settings))),
        text_of=text_of,
        wrong=messages,
    )


@pages.post("/services/{id}/edit", "targets:write", form_page=edit)
async def change(visit: Visit) -> Response:
    """Change a saved service; its secret stays unless the form has another or removes it."""
    target_id, texts = visit.path("id"), visit.typed
    target = await visit.api.get(f"/v1/targets/{target_id}")
    body, errors = target_from_texts(texts, target["kind"], target["protocol"], await _settings_of(visit, target))
    if errors:
        raise Refused.unreadable(errors)
    if texts.get("forget") or texts.get("secret"):
        body["secret"] = None if texts.get("forget") else texts["secret"]
    await visit.api.ask("PUT", f"/v1/targets/{target_id}", body=body)
    return visit.redirect(f"/services/{target_id}")


pages.act("/services/{id}/remove", "targets:write", "DELETE", "/v1/targets/{id}", "/services")
pages.act("/services/{id}/claim", "targets:write", "POST", "/v1/domains", "/services/{id}#owner", fields=["host"])


@pages.post("/services/{id}/verify", "targets:write")
async def verify(visit: Visit) -> Response:
    """Request the check that a host shows the caller's challenge, which proves that the host is the caller's."""
    domain = visit.form.get("domain", "")
    await visit.api.ask("POST", f"/v1/domains/{segment(domain)}/verify", headers={"prefer": f"wait={WAIT_S}"})
    return visit.redirect(f"/services/{visit.path('id')}#owner")


async def _settings_of(visit: Visit, target: Json) -> Sequence[Field]:
    protocols = await visit.api.items("/v1/protocols")
    protocol = next(protocol for protocol in protocols if protocol["name"] == target["protocol"])
    return settings_fields(protocol["settings_schema"], target["kind"])


def _form_texts(target: Mapping[str, Any], settings: Sequence[Field]) -> dict[str, str]:
    texts = {"name": target["name"], "base_url": target["base_url"] or ""}
    return texts | texts_of_values(settings, target["settings"]) | texts_of_values(LIMITS, target["limits"])
