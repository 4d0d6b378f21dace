"""Every list page of an agency that has no data yet."""

from __future__ import annotations

import httpx
import pytest

from service.app import create_app
from store.core import migrate
from store.core.settings import Settings
from web.site import AREAS, add_pages
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

PARTS = ("/overview/running",)
"""Paths that return only a part of a page; scripts fetch them to refresh this part."""

PATHS = sorted(
    {route.path for area in AREAS for route in area.routes if "GET" in (route.methods or ()) and "{" not in route.path}
    - {*PARTS, "/compare/ranking.csv", "/compare/ratings.csv"}
)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    settings = Settings(data_dir=tmp_path_factory.mktemp("agency"), auth="none", public_url="http://testserver")
    migrate.upgrade(settings.resolved_database_url)
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_pages(app)
    return app


@pytest.fixture
async def client(app):
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver", follow_redirects=True) as opened:
        yield opened


@pytest.mark.parametrize("path", ["/docs", "/registry", "/new"])
async def test_pages_that_exist_only_as_html_are_also_served_to_clients_that_accept_anything(client, path):
    answer = await client.get(path, headers={"Accept": "*/*"})
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (200, "text/html")


@pytest.mark.parametrize("path", PATHS)
async def test_every_list_page_of_an_empty_agency_is_shown(client, path):
    answer = await client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200
    assert answer.text.count("<h1") == 1
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("path", ["/problems", "/problems/not-found"])
async def test_pages_of_problems_vary_by_accept_and_like_all_pages_by_accept_encoding(client, path):
    vary_headers = [
        (await client.get(page, headers={"Accept": "text/html"})).headers["Vary"] for page in ("/log", path)
    ]
    assert set(vary_headers[1].split(", ")) == {*vary_headers[0].split(", "), "Accept", "Accept-Encoding"}


@pytest.mark.parametrize("path", ["/nothing", "/ratings/rat_0", "/jobs/job_0", "/services/tgt_0", "/corpora/cor_0"])
async def test_a_missing_resource_has_a_not_found_page(client, path):
    answer = await client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["x-request-id"] in answer.text
    assert "Not found" in answer.text
