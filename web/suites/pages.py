"""``/suites``: suites as matrices of letters, and a form that plans a new suite before it is requested."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.datastructures import QueryParams
from starlette.responses import Response

from assay.document import Json
from reports.regulators import AUDIT_FILES
from reports.regulators import METHOD as AUDITED
from service.suites.schemas import MAX_TARGETS
from web.frame import Api, Pages, Refused, Visit, segment
from web.frame.form import Form
from web.frame.visit import at_most
from web.services.service import find_rated

pages = Pages()

BOXES = 24
"""Number of services that the form of a suite shows at once, besides the chosen ones; a filter shows the others."""


@pages.get("/suites")
async def suites(visit: Visit) -> Response:
    """List suites with their progress, newest first."""
    return visit.page("suites/suites.html", **await visit.listing("/v1/suites"))


@pages.get("/suites/new")
async def new_suite(visit: Visit) -> Response:
    """Show the form for services, methods, attributes and languages; with choices, show the plan of the suite."""
    form = visit.form if visit.refused else visit.request.query_params
    plan = None
    problem = visit.refused and visit.refused.problem
    if visit.refused is None and form.getlist("service"):
        try:
            plan = await visit.api.post("/v1/suites/plan", await _suite_request(visit.api, form))
        except Refused as error:
            problem = error.problem
    selection = {name: form.getlist(name) for name in ("service", "method", "attribute")}
    services, complete = await choices(visit.api, form.get("q", "").strip(), selection["service"])
    return visit.page(
        "suites/new.html",
        services=services[: len(selection["service"]) + BOXES],  # the selected ones, which come first, and others
        total=len(services) if complete else None,
        filter=form.get("q", ""),
        methods=await visit.api.items("/v1/methods"),
        attributes=await visit.api.items("/v1/attributes"),
        chosen=selection,
        languages=form.get("languages", ""),
        plan=plan,
        problem=problem,
    )


@pages.post("/suites/new", "jobs:write", form_page=new_suite)
async def request_suite(visit: Visit) -> Response:
    """Request the planned suite."""
    suite_document = await visit.api.post("/v1/suites", await _suite_request(visit.api, visit.form))
    return visit.redirect(f"/suites/{suite_document['id']}")


@pages.get("/suites/{suite_id}")
async def suite(visit: Visit) -> Response:
    """Show a suite as a matrix of services and of methods with their attributes."""
    document = await visit.api.get(f"/v1/suites/{visit.path('suite_id')}")
    # a suite of one service has the service's rows in the document itself
    only_service = {**{name: document[name] for name in ("target", "worst", "columns", "rows")}, "rank": None}
    services = document["services"] or [only_service]
    for service in services:
        service["by_column"] = {
            (row["method"], row["attribute"]): [cell for cell in row["cells"] if cell] for row in service["rows"]
        }
    columns = dict.fromkeys(column for service in services for column in service["by_column"])
    audit_rows = [row for service in services for row in service["rows"] if row["method"] == AUDITED]
    audit_cells = [cell for row in audit_rows for cell in row["cells"] if cell and cell["status"] != "omitted"]
    # regulators get the files of a finished audit only
    complete = audit_cells and all(cell["status"] == "succeeded" for cell in audit_cells)
    files = [(file.name, file.title) for file in AUDIT_FILES] if complete else []
    return visit.page("suites/suite.html", suite=document, services=services, columns=list(columns), audit_files=files)


for _file in ("/suites/{suite_id}/report.html", "/suites/{suite_id}/audits/{name}"):
    pages.file(_file, f"/v1{_file}")
pages.act("/suites/{suite_id}/cancel", "jobs:write", "POST", "/v1/suites/{suite_id}/cancel", "/suites/{suite_id}")


async def _suite_request(api: Api, form: Form | QueryParams) -> dict[str, Any]:
    """Return the request for a suite from a form; a field without a choice is left out, which means all choices."""
    service_ids = at_most(MAX_TARGETS, form.getlist("service"), "services")
    targets = [await target_of(api, service_id) for service_id in service_ids]
    languages = [code for code in re.split(r"[\s,;]+", form.get("languages", "")) if code]
    list_fields = {"methods": form.getlist("method"), "attributes": form.getlist("attribute"), "languages": languages}
    targets_entry = {"target": targets[0]} if len(targets) == 1 else {"targets": targets}
    return {**targets_entry, **{name: values for name, values in list_fields.items() if values}}


MAX_LISTED_SERVICES = 50
"""Number of saved services that a form lists."""


async def choices(api: Api, text: str, selected_ids: Sequence[str]) -> tuple[list[Json], bool]:
    """Return the caller's services (saved or rated) with `text` in name or address, and whether these are all.

    The `value` of a service is the id of its saved target, or of a rating that describes it. The services
    `selected_ids` come first, even if they do not match. Unsaved services are read only if all saved ones are listed.
    """
    listing = await api.get("/v1/targets", q=text, limit=MAX_LISTED_SERVICES)
    targets, complete = listing["items"], not listing["next_cursor"]
    rated_rows = list[Json]()
    if complete:
        rated_rows, complete = await find_rated(api, q=text)
    digests = {target["digest"] for target in targets}
    services = [_choice(target["id"], {**target, "url": target["base_url"]}) for target in targets]
    for row in rated_rows:
        target = row["target"]
        # a file of decisions is no service that could be asked
        if target["digest"] not in digests and target["protocol"] != "uploaded":
            digests.add(target["digest"])
            services.append(_choice(row["id"], target))
    services.sort(key=lambda service: (service["kind"], service["name"].casefold()))
    services_by_id = {service["value"]: service for service in services}
    selected_services = []
    for service_id in selected_ids:
        if service_id in services_by_id:
            selected_services.append(services_by_id.pop(service_id))
            continue
        with suppress(Refused):  # a service that the caller cannot read is left out
            resource = "ratings" if service_id.startswith("rat_") else "targets"
            document = await api.get(f"/v1/{resource}/{segment(service_id)}")
            # a rating contains its target, which has a `url`; a saved target is the document itself
            target = {"url": document.get("base_url"), **document.get("target", document)}
            selected_services.append(_choice(service_id, target))
    return [*selected_services, *services_by_id.values()], complete


def _choice(value: str, target: Json) -> Json:
    return {"value": value, "name": target["name"], "kind": target["kind"], "address": target["url"]}


async def target_of(api: Api, value: str) -> dict[str, Any]:
    """Return the target for a request, from the id of a saved target, or of a rating that describes its target."""
    if not value.startswith("rat_"):
        return {"id": value}
    return description_of_rated((await api.get(f"/v1/ratings/{segment(value)}"))["target"])


def description_of_rated(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a rated service for a request; it has no secret, because ratings store none."""
    return {
        "name": target["name"],
        "kind": target["kind"],
        "protocol": target["protocol"],
        "base_url": target.get("url") or None,
        "settings": target.get("settings") or {},
    }
