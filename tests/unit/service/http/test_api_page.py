"""`docs/api.md` lists all endpoints and all problems, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.routing import iter_route_contexts

from service.http.problems import KINDS

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "api.md").read_text("utf-8")


def documented():
    """Return the addresses in the page's table of endpoints, with abbreviations expanded."""
    table = PAGE.partition("## Every endpoint")[2].partition("## Keys")[0]
    spelt = table.replace(".../report.md", "GET /v1/ratings/{id}/report.md")
    spelt = spelt.replace(
        "`.csv` and `.jsonl`", "`GET /v1/jobs/{id}/observations.csv` `GET /v1/jobs/{id}/observations.jsonl`"
    )
    found = re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/[^`?]*)[^`]*`", spelt)
    return {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in found}


async def test_the_api_page_lists_every_endpoint_and_no_other(app):
    served = {
        (method, re.sub(r"\{\w+\}", "{}", route.path))
        for route in iter_route_contexts(app.routes)
        for method in (route.methods or ()) - {"HEAD"}
        if not route.path.startswith("/static")
    }
    assert documented() == served


async def test_the_api_page_explains_every_problem():
    table = PAGE.partition("problems: begin")[2].partition("problems: end")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (.+) \|$", table, re.MULTILINE)
    assert [(code, int(status), meaning) for code, status, meaning in rows] == [
        (kind.code, kind.status, kind.meaning) for kind in KINDS.values()
    ]


async def test_the_first_request_on_the_api_page_is_accepted(client):
    body = re.search(r"-d '(\{.*?\})'\n```", PAGE, re.DOTALL)
    answer = await client.post("/v1/jobs", content=body[1], headers={"Content-Type": "application/json"})
    assert answer.status_code == 202, answer.text
    assert answer.json()["expected"] == 120
