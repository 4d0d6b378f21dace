"""Health, metrics, catalogue, documentation, and the OpenAPI document."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from time import process_time

import pytest
from jsonschema import Draft202012Validator

from service.http.openapi.document import EXAMPLES
from service.jobs.schemas import RatingRequest
from service.keys.routes import KeyRequest
from service.targets.schemas import TargetDescription
from store.core.database import Database
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio


async def test_a_migrated_service_is_alive_and_ready(client):
    assert (await client.get("/livez")).json() == {"status": "alive"}
    assert (await client.get("/readyz")).json() == {"status": "ready"}


def set_schema(settings, version: str) -> None:
    database = Database(settings.resolved_database_url)
    with database.write() as c:
        c.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    database.close()


async def test_a_service_stays_ready_while_a_later_version_migrates_its_database(client, settings):
    set_schema(settings, "from_the_future")
    assert (await client.get("/readyz")).json() == {"status": "ready"}


async def test_a_service_with_an_outdated_database_schema_is_alive_but_not_ready(client, settings):
    set_schema(settings, "0001")
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "not-ready")
    assert answer.headers["Retry-After"]
    assert (await client.get("/livez")).status_code == 200


async def test_metrics_count_requests_by_route_and_jobs_by_status(client, request_body):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    await client.get(f"/v1/jobs/{job['id']}")
    await client.get("/nope/secret-path")
    text = (await client.get("/metrics")).text
    assert 'assay_jobs{status="queued"} 1.0' in text
    assert 'assay_http_requests_total{method="GET",route="/v1/jobs/{job_id}",status="200"} 1.0' in text
    assert 'route="unmatched",status="404"' in text
    assert "secret-path" not in text
    assert job["id"] not in text
    assert "assay_oldest_due_job_seconds" in text


async def test_info_lists_methodology_version_methods_protocols_and_report_formats(client):
    info = (await client.get("/v1/info")).json()
    assert info["methodology"]["version"]
    assert "round-trip" in info["methods"]
    assert "libretranslate" in info["protocols"]
    assert "html" in info["report_formats"]


async def test_the_limits_resource_shows_how_many_new_jobs_the_rate_limit_still_allows(client, request_body):
    left = [(await client.get("/v1/limits")).json()["new_jobs"]["remaining"]]
    for seed in range(2):
        await client.post("/v1/jobs", json={**request_body(), "seed": seed})
        limits = (await client.get("/v1/limits")).json()
        left.append(limits["new_jobs"]["remaining"])
    assert limits["active_jobs"]["used"] == 2
    # the window of a minute can end between two requests, but only once
    assert 1 in {left[0] - left[1], left[1] - left[2]}
    assert all(0 < each <= limits["new_jobs"]["limit"] for each in left)


async def test_every_methods_example_is_valid_for_its_schema(client):
    for method in (await client.get("/v1/methods")).json()["items"]:
        view = (await client.get(method["href"])).json()
        Draft202012Validator(view["schema"]).validate(view["example"])
        assert view["example"]["method"] == method["name"]
        assert (view["expected_probes"] > 0) == (method["kinds"] != ["decision-tool"])  # which is never called
        assert view["summary"]
        assert view["kinds"]
    assert "round-trip" in (await client.get("/v1/methods/nope")).json()["detail"]


async def test_attributes_and_protocols_are_listed(client):
    attributes = {one["name"]: one for one in (await client.get("/v1/attributes")).json()["items"]}
    assert attributes["gender"]["values"] == ["he", "she"]
    protocols = {one["name"]: one for one in (await client.get("/v1/protocols")).json()["items"]}
    assert protocols["tei"]["settings_schema"]["properties"]["model"]["type"] == "string"
    assert protocols["deepl"]["needs_secret"] is True


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/protocols", "/v1/info"])
async def test_reading_the_protocols_again_needs_little_processor_time(path, app, client, settings):
    # guards against requests that need no key and block the event loop: 2.1 s for /v1/protocols, 0.4 s for /v1/info
    app.state.service = replace(app.state.service, target_validator=TargetChecker(settings))
    assert "custom" in (await client.get(path)).text
    begun = process_time()
    for _ in range(5):
        await client.get(path)
    assert process_time() - begun < 0.5


async def test_the_documentation_page_loads_nothing_from_another_host(client):
    page = await client.get("/docs/operations")
    assert page.status_code == 200
    assert not re.search(r'(src|href)="(https?:)?//', page.text)
    for asset in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
        assert (await client.get(asset)).status_code == 200
    assert "validatorUrl: null" in (await client.get("/static/docs.js")).text
    assert "'self'" in page.headers["Content-Security-Policy"]


async def test_the_documentation_page_cannot_be_shown_in_a_frame(client):
    # clickjacking: another site could make a user click buttons that send requests from the agency's own origin
    assert "frame-ancestors 'none'" in (await client.get("/docs/operations")).headers["Content-Security-Policy"]


# ---------------------------------------------------------------------------- the OpenAPI document
@pytest.fixture
async def document(client):
    return (await client.get("/openapi.json")).json()


def operations(document):
    return [one for path in document["paths"].values() for one in path.values()]


async def test_the_openapi_document_is_built_once(app):
    assert app.openapi() is app.openapi()


async def test_every_operation_has_an_id_tags_a_description_and_error_responses(document):
    names = [one["operationId"] for one in operations(document)]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in document["tags"]}
    for one in operations(document):
        assert set(one["tags"]) <= tags
        assert one["description"]
        assert one["responses"]["default"] == {"$ref": "#/components/responses/Problem"}
        for status, response in one["responses"].items():
            if status[0] in "45" and "text/x.tlog.size" not in response.get("content", {}):  # set by C2SP
                assert response == {"$ref": "#/components/responses/Problem"}


async def test_the_openapi_document_has_one_problem_response_with_one_media_type(document):
    assert list(document["components"]["responses"]["Problem"]["content"]) == ["application/problem+json"]
    assert "HTTPValidationError" not in document["components"]["schemas"]


async def test_every_ref_in_the_openapi_document_resolves(document):
    def references(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "$ref":
                    yield value
                else:
                    yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    for reference in set(references(document)):
        inner = document
        for part in reference.removeprefix("#/").split("/"):
            inner = inner[part]


def schema_of(document, name):
    return {"$ref": f"#/components/schemas/{name}", "components": document["components"]}


async def test_every_request_example_of_the_openapi_document_is_valid_for_its_schema_and_is_accepted(document):
    for named, model in (
        (EXAMPLES["RatingRequest"], RatingRequest),
        (EXAMPLES["TargetDescription"], TargetDescription),
        (EXAMPLES["KeyRequest"], KeyRequest),
    ):
        for example in named.values():
            Draft202012Validator(schema_of(document, model.__name__)).validate(example["value"])
            model.model_validate(example["value"])


async def test_answers_are_valid_for_their_documented_schemas(client, document, request_body, worker):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    rating_id = worker.rate(job_id)
    for url, name in (
        (f"/v1/jobs/{job_id}", "JobView"),
        ("/v1/jobs", "JobList"),
        (f"/v1/jobs/{job_id}/observations", "ObservationList"),
        (f"/v1/ratings/{rating_id}", "RatingView"),
        ("/v1/ratings", "RatingList"),
        ("/v1/limits", "LimitsView"),
        ("/v1/jobs/nope", "Problem"),
        ("/v1/jobs?limit=0", "Problem"),
    ):
        Draft202012Validator(schema_of(document, name)).validate((await client.get(url)).json())


@pytest.mark.slow
async def test_operations_declare_that_they_require_a_key(serve, guarded, document):
    assert document["paths"]["/v1/jobs"]["post"]["security"] == [{}, {"ApiKey": []}]
    document = (await (await serve(guarded)).get("/openapi.json")).json()
    assert document["components"]["securitySchemes"]["ApiKey"]["scheme"] == "bearer"
    assert document["paths"]["/v1/jobs"]["post"]["security"] == [{"ApiKey": []}]
    assert document["paths"]["/v1/ratings/{rating_id}"]["get"]["security"] == [{}, {"ApiKey": []}]
    assert "security" not in document["paths"]["/livez"]["get"]


async def test_two_hundred_pollers_at_once_are_all_answered(client, request_body):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    answers = await asyncio.gather(*(client.get(f"/v1/jobs/{job_id}") for _ in range(200)))
    assert {one.status_code for one in answers} == {200}
