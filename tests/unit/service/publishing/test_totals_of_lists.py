"""Totals and pages of lists, and the URL of a filtered list."""

import pytest

pytestmark = pytest.mark.anyio


@pytest.fixture
async def agency(settings, serve):
    return await serve(settings, pages=True)


async def test_every_page_of_a_list_has_the_total_number_of_rows(agency):
    assert (await agency.get("/v1/targets")).json()["total"] == 0
    target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": "https://a.example.com"}
    for number in range(5):
        await agency.post("/v1/targets", json={**target, "name": f"T{number}"})
    first = (await agency.get("/v1/targets", params={"limit": 2})).json()
    second = (await agency.get("/v1/targets", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [len(page["items"]) for page in (first, second)] == [2, 2]
    assert [page["total"] for page in (first, second)] == [5, 5]
    assert (await agency.get("/v1/targets", params={"limit": 2, "q": "T3"})).json()["total"] == 1


async def test_services_are_shown_in_pages_of_fifty_with_the_total(agency):
    target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": "https://a.example.com"}
    for number in range(53):
        await agency.post("/v1/targets", json={**target, "name": f"Service {number:02}"})
    browser = {"Accept": "text/html"}
    first = (await agency.get("/services", headers=browser)).text
    assert "53 in all" in first
    assert first.count('scope="row"') == 50
    last = (await agency.get("/services?start=50", headers=browser)).text
    assert last.count('scope="row"') == 3
    assert "in all" not in last


async def test_empty_form_fields_are_removed_from_the_url_by_a_redirect(agency):
    answer = await agency.get("/registry?q=x&kind=&letter=", headers={"Accept": "text/html"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/registry?q=x")
