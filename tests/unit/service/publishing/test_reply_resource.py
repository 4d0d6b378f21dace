"""The right of reply over HTTP: verification of a host, and replies of its owner."""

from __future__ import annotations

import pytest

from store.targets import domains

pytestmark = pytest.mark.anyio

HOST, URL = "127.0.0.1:5000", "http://127.0.0.1:5000"
REPLY = {"text": "We have mended it.\n\n<b>Thank you</b> *all*", "link": "https://owner.example/notes"}


def prove(worker, tenant="default", host=HOST, failure=None):
    """Record a verification of a host: successful, or failed for the reason `failure`."""
    with worker.database.write() as c:
        added, _ = domains.add(c, tenant, host)
        return domains.record_check(c, added.id, failure)


@pytest.fixture
async def rating_id(client, worker, request_body):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    return worker.rate(job["id"])


# ---------------------------------------------------------------------------- domains
async def test_a_new_claim_to_a_host_has_a_token_and_the_url_at_which_to_publish_it(client):
    made = await client.post("/v1/domains", json={"host": "Translate.Example.com"})
    assert made.status_code == 201, made.text
    shown = made.json()
    assert (shown["host"], shown["state"], shown["verified_at"]) == ("translate.example.com", "waiting", None)
    assert shown["challenge"]["url"] == "https://translate.example.com/.well-known/assay-challenge.txt"
    assert shown["challenge"]["token"].startswith("assay-challenge=")
    assert (await client.get(made.headers["Location"])).json() == shown
    etag = {"If-None-Match": made.headers["ETag"]}
    assert (await client.get(made.headers["Location"], headers=etag)).status_code == 304


@pytest.mark.parametrize("port", ["443", "0443", "80", "080"])
async def test_claiming_a_host_again_returns_the_same_token(client, port):
    first = await client.post("/v1/domains", json={"host": "a.example"})
    again = await client.post("/v1/domains", json={"host": f"a.example:{port}"})
    assert (again.status_code, again.json()) == (200, first.json())


@pytest.mark.parametrize(
    "host",
    [
        "https://a.example",
        "a.example/path",
        "user@a.example",
        "a.example:",
        "a.example:http",
        "a.example:99999",
        "a b.example",
        "ä.example",
        "private.example",
        "",
        "[::1",
        "a.example?x",
        "=a(1).example",
        "a%2f.example",
        None,
        7,
    ],
)
async def test_an_invalid_or_forbidden_host_is_refused(client, host):
    refused = await client.post("/v1/domains", json={"host": host})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/host"), refused.text


async def test_verification_of_a_domain_creates_a_job(client):
    made = (await client.post("/v1/domains", json={"host": HOST})).json()
    asked = await client.post(f"/v1/domains/{made['id']}/verify")
    job = asked.json()
    assert (asked.status_code, job["kind"], job["experiment"]) == (202, "challenge", {"domain": made["id"]})
    again = await client.post(f"/v1/domains/{made['id']}/verify")
    assert again.json()["id"] == job["id"]


async def test_claims_to_hosts_can_be_listed_and_removed(client):
    made = [(await client.post("/v1/domains", json={"host": f"h{place}.example"})).json() for place in range(3)]
    page = await client.get("/v1/domains", params={"limit": 2})
    rest = await client.get("/v1/domains", params={"limit": 2, "cursor": page.json()["next_cursor"]})
    assert {one["id"] for one in page.json()["items"] + rest.json()["items"]} == {one["id"] for one in made}
    address = f"/v1/domains/{made[0]['id']}"
    assert [(await client.delete(address)).status_code for _ in range(2)] == [204, 404]
    assert (await client.post(f"{address}/verify")).status_code == 404


async def test_another_tenants_claim_to_a_host_is_404(serve, guarded, worker):
    client = await serve(guarded)
    keys = [{"Authorization": f"Bearer {worker.make_key(tenant)}"} for tenant in ("acme", "other")]
    made = (await client.post("/v1/domains", json={"host": "a.example"}, headers=keys[0])).json()
    address = f"/v1/domains/{made['id']}"
    assert (await client.get(address, headers=keys[1])).status_code == 404
    assert (await client.delete(address, headers=keys[1])).status_code == 404
    assert (await client.post(f"{address}/verify", headers=keys[1])).status_code == 404
    assert (await client.get("/v1/domains", headers=keys[1])).json()["items"] == []
    assert (await client.get(address)).status_code == 401


# ---------------------------------------------------------------------------- replies
async def test_an_owners_reply_is_shown_with_the_rating_and_does_not_change_it(client, rating_id, worker):
    address = f"/v1/ratings/{rating_id}"
    prove(worker)
    before = await client.get(address)
    written = await client.put(f"{address}/reply", json=REPLY)
    assert written.status_code == 201, written.text
    assert written.headers["Location"] == f"{address}/reply"
    shown = written.json()
    assert {name: shown[name] for name in ("text", "link", "host")} == REPLY | {"host": HOST}
    after = await client.get(address, headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200
    assert after.json() == before.json() | {"reply": shown}
    assert (await client.get(f"{address}/reply")).json() == shown
    assert (await client.get("/v1/ratings?fields=full")).json()["items"][0]["reply"] == shown


async def test_a_reply_can_be_replaced_and_removed(client, rating_id, worker):
    prove(worker)
    address = f"/v1/ratings/{rating_id}/reply"
    assert (await client.get(address)).status_code == 404
    first = await client.put(address, json=REPLY)
    second = await client.put(address, json={"text": "Otherwise."})
    assert (second.status_code, second.json()["link"]) == (200, None)
    assert first.headers["ETag"] != second.headers["ETag"]
    same = {"If-None-Match": second.headers["ETag"]}
    assert (await client.get(address, headers=same)).status_code == 304
    assert [(await client.delete(address)).status_code for _ in range(2)] == [204, 404]
    assert (await client.get(f"/v1/ratings/{rating_id}")).json()["reply"] is None


async def test_reports_show_a_reply_as_plain_text(client, rating_id, worker):
    prove(worker)
    await client.put(f"/v1/ratings/{rating_id}/reply", json=REPLY)
    html = (await client.get(f"/v1/ratings/{rating_id}/report.html")).text
    assert "&lt;b&gt;Thank you&lt;/b&gt; *all*" in html
    assert "<b>Thank" not in html
    assert 'href="https://owner.example' not in html
    markdown = (await client.get(f"/v1/ratings/{rating_id}/report.md")).text
    assert r"> \<b\>Thank you\</b\> \*all\*" in markdown
    for page in (html, markdown):
        assert HOST in page
        assert "alters nothing" in page


@pytest.mark.parametrize(
    ("host", "failure"), [("127.0.0.1", None), ("127.0.0.1:5001", None), (HOST, "the token is not there"), (None, None)]
)
async def test_a_reply_requires_a_verified_host(client, rating_id, worker, host, failure):
    if host is not None:
        prove(worker, host=host, failure=failure)
    refused = await client.put(f"/v1/ratings/{rating_id}/reply", json=REPLY)
    assert (refused.status_code, refused.json()["code"], refused.json()["host"]) == (403, "not-the-owner", HOST)


async def test_the_owner_of_a_host_can_reply_to_public_and_unlisted_ratings_of_other_tenants(
    serve, guarded, worker, request_body
):
    client = await serve(guarded)
    catalog, owner = ({"Authorization": f"Bearer {worker.make_key(tenant)}"} for tenant in ("catalog", "owner"))
    prove(worker, tenant="owner")
    answers = {}
    for seed, visibility in enumerate(("public", "unlisted", "private")):
        body = request_body(visibility=visibility, seed=seed)
        job = (await client.post("/v1/jobs", json=body, headers=catalog)).json()
        address = f"/v1/ratings/{worker.rate(job['id'])}/reply"
        answers[visibility] = (await client.put(address, json=REPLY, headers=owner)).status_code
        if visibility == "public":
            assert (await client.get(address)).json()["text"] == REPLY["text"]
            assert (await client.delete(address, headers=catalog)).status_code == 404
    assert answers == {"public": 201, "unlisted": 201, "private": 404}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"text": ""}, "/text"),
        ({"text": "x" * 5001}, "/text"),
        ({"text": "x", "link": "javascript:alert(1)"}, "/link"),
        ({"text": "x", "letter": "UCS"}, "/letter"),
        ({}, "/text"),
    ],
)
async def test_an_invalid_reply_is_refused_naming_the_invalid_field(client, rating_id, worker, body, pointer):
    prove(worker)
    refused = await client.put(f"/v1/ratings/{rating_id}/reply", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer)
