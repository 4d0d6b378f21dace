"""Every public answer has an entity tag, by which caches ask whether it has changed."""

import pytest

HTML = {"Accept": "text/html"}
pytestmark = pytest.mark.anyio

PUBLIC = ("/", "/registry", "/attributes", "/v1/registry/distribution", "/v1/services/ranking.atom?kind=translator")


@pytest.fixture
async def agency(settings, serve):
    """An agency with pages that requires no key."""
    return await serve(settings, pages=True)


@pytest.mark.parametrize("path", PUBLIC)
async def test_a_public_answer_is_not_sent_again_to_a_cache_that_has_it(agency, path):
    first = await agency.get(path, headers=HTML)
    assert (first.status_code, "public" in first.headers["cache-control"]) == (200, True)
    again = await agency.get(path, headers={**HTML, "If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    same = ("etag", "cache-control", "vary")
    assert [again.headers.get(name) for name in same] == [first.headers.get(name) for name in same]
    other = await agency.get(path, headers={**HTML, "If-None-Match": '"other"'})
    assert (other.status_code, other.content) == (200, first.content)


async def test_a_head_request_for_a_page_gets_the_etag_of_the_page(agency):
    page, head = await agency.get("/registry", headers=HTML), await agency.head("/registry", headers=HTML)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == page.headers["etag"]


async def test_responses_that_depend_on_the_caller_have_no_etag(agency):
    for path in ("/overview", "/v1/ratings"):
        answer = await agency.get(path, headers=HTML)
        assert "etag" not in answer.headers, path
        assert "public" not in answer.headers["cache-control"], path
