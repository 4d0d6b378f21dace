"""Compositions over HTTP: `/v1/compositions`."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.anyio

URL = "/v1/compositions"


@pytest.fixture
def rated(client, request_body, worker):
    """Request a rating, complete its job, and return its id."""

    async def rated(
        letter="DSBS", url="http://127.0.0.1:5000", visibility="private", kind=None, on=client, headers=None, **changes
    ):
        body = request_body(visibility=visibility, seed=hash((letter, url)) % 1000)
        body["target"]["base_url"] = url
        job = (await on.post("/v1/jobs", json=body, headers=headers)).json()
        if letter is not None:
            sure = dict.fromkeys(("BS", "DSBS", "UCS"), 0.0) | {letter: 1.0}
            changes = {"probabilities": sure} | changes
        if kind is not None:
            changes["target"] = {"name": kind, "kind": kind, "protocol": "tei", "url": url, "digest": "sha256:01"}
        return worker.rate(job["id"], letter=letter, **changes)

    return rated


def chain(*ids, **more):
    return {"chain": [{"rating": one} for one in ids], **more}


async def compose(client, *ids, **more):
    answer = await client.post(URL, json=chain(*ids, **more))
    assert answer.status_code == 201, answer.text
    return answer.json()


async def refused(client, body, pointer):
    answer = await client.post(URL, json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer, answer.text
    return answer.json()["errors"][0]


def codes(composition):
    return {note["code"] for note in composition["notes"]}


async def test_the_report_of_a_composition_shows_its_letter_and_links_to_each_rating(client, rated):
    composition = await compose(client, await rated("BS"), await rated("UCS"))
    page = await client.get(f"{URL}/{composition['id']}/report.html")
    text = await client.get(f"{URL}/{composition['id']}/report.md")
    assert (page.status_code, text.status_code) == (200, 200)
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "Inferred: UCS — unbiased, compensating" in page.text
    for link in composition["chain"]:
        assert f'href="{link["rating"]["href"]}/report.html"' in page.text
        assert f"]({link['rating']['href']}/report.md)" in text.text
    again = await client.get(page.url, headers={"If-None-Match": page.headers["ETag"]})
    assert again.status_code == 304
    assert (await client.get(f"{URL}/com_none/report.md")).status_code == 404


async def test_a_composition_is_stored_and_read_back(client, rated):
    made = await client.post(URL, json=chain(await rated("BS"), await rated("UCS")))
    assert made.status_code == 201
    composition = made.json()
    assert made.headers["Location"] == f"{URL}/{composition['id']}"
    read = await client.get(made.headers["Location"])
    assert read.json() == composition
    again = await client.get(made.headers["Location"], headers={"If-None-Match": read.headers["ETag"]})
    assert again.status_code == 304
    assert (composition["letter"], composition["provenance"], composition["kind"]) == ("UCS", "inferred", "translator")
    assert [link["rating"]["provenance"] for link in composition["chain"]] == ["measured", "measured"]
    assert composition["tables"]["published"]["bracketings"][0]["steps"][0]["entries"] == [
        {"row": "BS", "column": "UCS", "possible": ["UCS"]}
    ]
    assert any("inferred" in sentence and "Table 2" in sentence for sentence in composition["explanation"])


async def test_a_chain_of_two_biased_services_must_be_measured_if_they_have_no_transition_matrices(client, rated):
    found = await compose(client, await rated("BS"), await rated("BS"))
    assert (found["letter"], found["must_be_measured"]) == (None, True)
    assert (found["possible"], found["worst"]) == (["BS", "DSBS", "UCS"], "BS")
    assert found["probabilities"]["must_be_measured"] == 1.0
    assert "must-be-measured" in codes(found)
    assert found["predicted"] is None
    assert "no matrix" in found["not_predicted"]
    offered = found["verification"]
    assert (offered["method"], offered["href"]) == ("POST", "/v1/jobs")
    assert offered["body"]["target"]["protocol"] == "chain"


async def test_a_composition_shows_the_results_of_both_composition_tables(client, rated):
    first, second = await rated("UCS"), await rated("DSBS")
    for table, letter in (("published", "DSBS"), ("revised", "UCS")):
        found = await compose(client, first, second, table=table)
        assert (found["table"], found["letter"]) == (table, letter)
        assert {name: each["letter"] for name, each in found["tables"].items()} == {
            "published": "DSBS",
            "revised": "UCS",
        }
        assert "tables-differ" in codes(found)


async def test_bracketings_of_a_chain_with_contradictory_results_are_reported_with_all_possible_letters(client, rated):
    found = await compose(client, await rated("BS"), await rated("UCS"), await rated("DSBS"))
    assert (found["contradiction"], found["possible"], found["letter"]) == (True, ["BS", "DSBS"], None)


async def test_a_predicted_letter_of_a_chain_names_links_whose_rating_is_unmeasured_or_inconclusive(client, rated):
    unmeasured = await rated(None)
    found = await compose(client, unmeasured, await rated("UCS"))
    assert (found["letter"], found["probabilities"]) == ("UCS", None)  # the letter of the first service does not matter
    assert "link-unmeasured" in codes(found)
    found = await compose(client, await rated("UCS"), unmeasured)
    assert (found["possible"], found["must_be_measured"]) == (["BS", "DSBS", "UCS"], True)
    leaning = await rated("BS", declared=False, probabilities={"BS": 0.6, "DSBS": 0.4, "UCS": 0.0})
    found = await compose(client, await rated("DSBS"), leaning)
    assert (found["possible"], found["letter"]) == (["BS", "DSBS"], None)
    assert found["probabilities"] == {"BS": 0.6, "DSBS": 0.4, "UCS": 0.0, "must_be_measured": 0.0}
    assert "link-inconclusive" in codes(found)


async def test_the_error_about_services_that_cannot_form_a_chain_names_the_incompatible_one(client, rated):
    translator, race = await rated(), await rated(attribute="race")
    embedder, classifier = await rated(kind="embedder"), await rated(kind="classifier")
    table = await rated(kind="classifier", experiment={"records": {"column": "sex"}})
    why = await refused(client, chain(translator, race), "/chain/1")
    assert "race" in why["detail"]
    assert why["code"] == "incompatible"
    assert "single words" in (await refused(client, chain(translator, translator, embedder), "/chain/2"))["detail"]
    assert "single words" in (await refused(client, chain(embedder, translator), "/chain/1"))["detail"]
    assert "a class" in (await refused(client, chain(classifier, translator), "/chain/1"))["detail"]
    assert "records" in (await refused(client, chain(translator, table), "/chain/1"))["detail"]
    await refused(client, chain(translator, translator, attribute="race"), "/chain/0")
    assert (await compose(client, translator, classifier))["kind"] == "classifier"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"chain": []}, "/chain"),
        ({"chain": [{"rating": "rat_1"}]}, "/chain"),
        ({"chain": [{"rating": "rat_1"}] * 21}, "/chain"),
        ({"chain": [{"rating": "rat_1"}, {}]}, "/chain/1"),
        ({"chain": [{"rating": "rat_1"}, {"rating": "r", "target": "t"}]}, "/chain/1"),
        ({"chain": [{"rating": "rat_1"}, {"ratings": "r"}]}, "/chain/1/ratings"),
        ({"chain": [{"rating": "rat_1"}, {"rating": "rat_2"}], "table": "other"}, "/table"),
        ({"chain": [{"rating": "rat_1"}, {"rating": "rat_2"}]}, "/chain/0/rating"),
        ({"chain": [{"target": "tgt_1"}, {"target": "tgt_2"}]}, "/chain/0/target"),
    ],
)
async def test_an_invalid_composition_is_422_naming_the_invalid_field(client, body, pointer):
    answer = await client.post(URL, json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)


async def test_a_chain_uses_the_newest_rating_of_a_target_for_the_attribute(client, request_body, worker):
    saved, ratings = [], {}
    for port in (1, 2):
        target = request_body()["target"] | {"base_url": f"http://127.0.0.1:{port}"}
        saved.append((await client.post("/v1/targets", json=target)).json()["id"])
        for seed, attribute in enumerate(("gender", "gender", "race")):
            body = request_body(target={"id": saved[-1]}, seed=seed)
            job = (await client.post("/v1/jobs", json=body)).json()
            ratings[saved[-1], seed] = worker.rate(job["id"], attribute=attribute)
    body = {"chain": [{"target": one} for one in saved]}
    await refused(client, body, "/attribute")
    found = (await client.post(URL, json=body | {"attribute": "gender"})).json()
    assert [link["rating"]["id"] for link in found["chain"]] == [ratings[one, 1] for one in saved]
    assert [link["target_id"] for link in found["chain"]] == saved
    links = found["verification"]["body"]["target"]["settings"]["links"]
    assert [link["id"] for link in links] == saved
    mixed = {"chain": [{"rating": ratings[saved[0], 2]}, {"target": saved[1]}]}
    found = (await client.post(URL, json=mixed)).json()
    assert (found["attribute"], found["chain"][1]["rating"]["id"]) == ("race", ratings[saved[1], 2])
    await refused(client, body | {"attribute": "gender", "method": "one-hop"}, "/chain/0/target")


async def test_another_tenants_private_rating_in_a_chain_is_answered_like_a_missing_rating(
    serve, guarded, rated, worker
):
    client = await serve(guarded)
    ours, theirs = ({"Authorization": f"Bearer {worker.make_key(tenant)}"} for tenant in ("acme", "rival"))
    private = await rated(on=client, headers=theirs)
    public = await rated("BS", on=client, headers=theirs, visibility="public")

    async def post(body, headers=ours):
        return await client.post(URL, json=body, headers=headers)

    answers = [await post(chain(public, one)) for one in (private, "rat_00000000000000000000000000")]
    details = [answer.json()["errors"][0]["detail"].replace(private, "ID") for answer in answers]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert details[0] == details[1].replace("rat_00000000000000000000000000", "ID")
    made = await post(chain(public, public))
    assert made.status_code == 201
    address = made.headers["Location"]
    assert (await client.get(address, headers=theirs)).status_code == 404
    assert (await client.get(address)).status_code == 404
    assert (await client.get(URL, headers=theirs)).json()["items"] == []
    shown = await post(chain(public, public, visibility="public"))
    seen = (await client.get(shown.headers["Location"])).json()
    assert (seen["id"], seen["verification"]) == (shown.json()["id"], None)
    assert shown.json()["verification"] is not None
    too_open = await post(chain(private, public, visibility="public"), theirs)
    assert (too_open.status_code, too_open.json()["errors"][0]["pointer"]) == (422, "/visibility")


async def test_composing_requires_the_scope_jobs_write_and_the_scope_ratings_read(serve, guarded, worker):
    client = await serve(guarded)
    for scope in ("jobs:write", "ratings:read"):
        headers = {"Authorization": f"Bearer {worker.make_key('acme', scope)}"}
        assert (await client.post(URL, json=chain("a", "b"), headers=headers)).status_code == 403


async def test_a_repeated_request_with_one_idempotency_key_creates_one_composition(client, rated):
    body = chain(await rated("BS"), await rated("UCS"))
    headers = {"Idempotency-Key": "one"}
    first, again = [await client.post(URL, json=body, headers=headers) for _ in range(2)]
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["Location"] == first.headers["Location"]
    assert len((await client.get(URL)).json()["items"]) == 1


async def test_compositions_are_listed_newest_first_in_pages(client, rated):
    pair = await rated("BS"), await rated("UCS")
    made = [(await compose(client, *pair))["id"] for _ in range(3)]
    page = await client.get(URL, params={"limit": 2})
    rest = await client.get(page.links["next"]["url"])
    assert [one["id"] for one in page.json()["items"] + rest.json()["items"]] == made[::-1]
    assert (await client.get(f"{URL}/cmp_none")).status_code == 404


async def test_a_removed_composition_is_404_and_its_ratings_are_kept(client, rated):
    pair = await rated("BS"), await rated("UCS")
    made = (await compose(client, *pair))["id"]
    assert (await client.delete(f"{URL}/{made}")).status_code == 204
    assert (await client.get(f"{URL}/{made}")).status_code == 404
    assert (await client.delete(f"{URL}/{made}")).status_code == 404
    assert (await client.get(f"/v1/ratings/{pair[0]}")).status_code == 200


async def test_composing_the_longest_chain_does_not_block_other_requests(client, rated):
    one = await rated("BS")
    long, other = await asyncio.gather(compose(client, *[one] * 20), client.get("/livez"))
    assert (len(long["chain"]), other.status_code) == (20, 200)


async def test_a_link_of_a_chain_that_names_a_saved_target_cannot_override_its_settings(client, request_body):
    def described(*links):
        return {"name": "c", "kind": "translator", "protocol": "chain", "settings": {"links": list(links)}}

    saved = (await client.post("/v1/targets", json=request_body()["target"])).json()
    for link, pointer in (
        ({"id": "tgt_none"}, "/settings/links/0/id"),
        ({"id": saved["id"], "base_url": "http://127.0.0.1:6"}, "/settings/links/0/base_url"),
        ({"id": saved["id"], "secret": "x"}, "/settings/links/0/secret"),
    ):
        answer = await client.post("/v1/targets", json=described(link, link))
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
