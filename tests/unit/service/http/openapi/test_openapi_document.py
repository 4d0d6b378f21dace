"""The OpenAPI document: valid for its version, and correct in its details."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

MEDIA_TYPE_WORDS = {"schema", "example", "examples", "encoding"}
"""Keywords that a media type object may have (OpenAPI 3.1.0, section 4.8.14.1)."""


@pytest.fixture
async def document(client):
    return (await client.get("/openapi.json")).json()


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["operationId"]: one for path in document["paths"].values() for one in path.values()}


def media_types(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every media type object of a document."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "content" and isinstance(value, dict) and all("/" in name for name in value):
                yield from value.values()
            yield from media_types(value)
    elif isinstance(node, list):
        for value in node:
            yield from media_types(value)


async def test_media_types_use_only_keywords_of_the_declared_openapi_version(document):
    assert document["openapi"].startswith("3.1.")
    found = list(media_types(document))
    assert len(found) > 30
    for one in found:
        assert set(one) <= MEDIA_TYPE_WORDS


async def test_every_representation_of_a_rating_documents_its_date_headers(document):
    for name in ("getRating", "latestRating", "getReportHtml", "getAttestation", "exportRating", "getRatingBadgeSvg"):
        headers = operations(document)[name]["responses"]["200"]["headers"]
        assert {"X-Assay-Rated-At", "X-Assay-Expires-At", "X-Assay-Methodology"} <= set(headers), name


async def test_optional_parameters_are_not_nullable(document):
    for name, one in operations(document).items():
        for parameter in one.get("parameters", ()):
            kinds = parameter["schema"].get("anyOf", [parameter["schema"]])
            assert {"type": "null"} not in kinds, (name, parameter["name"])


async def test_the_discriminator_of_experiments_is_required(document):
    schemas = document["components"]["schemas"]
    tag = schemas["RatingRequest"]["properties"]["experiment"]["discriminator"]
    assert len(tag["mapping"]) >= 2
    for member in tag["mapping"].values():
        assert tag["propertyName"] in schemas[member.rpartition("/")[2]]["required"]


async def test_every_link_sets_exactly_the_path_parameters_of_its_operation(document):
    known = operations(document)
    links = [
        link
        for one in known.values()
        for response in one["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert len(links) >= 14
    for link in links:
        wanted = {one["name"] for one in known[link["operationId"]]["parameters"] if one["in"] == "path"}
        assert set(link["parameters"]) == wanted


async def test_the_openapi_link_from_a_job_to_its_rating_can_be_followed(client, document, request_body, worker):
    accepted = await client.post("/v1/jobs", json=request_body())
    worker.rate(accepted.json()["id"])
    shown = await client.get(accepted.headers["Location"])
    link = operations(document)["getJob"]["responses"]["200"]["links"]["getRating"]
    assert link["parameters"] == {"rating_id": "$response.body#/rating/id"}
    assert (await client.get(f"/v1/ratings/{shown.json()['rating']['id']}")).status_code == 200


async def test_headers_documented_as_required_are_sent(client, document, request_body):
    bodies = {"requestRating": request_body(), "saveTarget": request_body()["target"]}
    for name, url in (("requestRating", "/v1/jobs"), ("saveTarget", "/v1/targets")):
        answer = await client.post(url, json=bodies[name])
        told = operations(document)[name]["responses"][str(answer.status_code)]["headers"]
        required = [header for header, described in told.items() if described.get("required")]
        assert "Location" in required
        assert all(header in answer.headers for header in required)


async def test_two_invalid_fields_are_reported_in_one_bad_specification_problem(client, request_body):
    body = request_body(callback_url="ftp://host.example/hook")
    body["target"]["base_url"] = "gopher://host.example/"
    answer = await client.post("/v1/jobs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-specification")
    assert {one["pointer"] for one in answer.json()["errors"]} == {"/callback_url", "/target/base_url"}
    mixed = await client.post("/v1/jobs", json=body | {"seed": -1})
    assert mixed.json()["code"] == "invalid-request"
