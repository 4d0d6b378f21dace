"""Publication, withdrawal, histories, differences, the registry and the log, over HTTP.

Row 110 of docs/reliability.md: a download of a large registry was 24 to 680 GB in one answer.
"""

from __future__ import annotations

import json

import pytest

from assay.canonical import canonical_json, rating_digest
from assay.evidence import merkle
from store.security import signing
from tests.support.checkpoints import open_checkpoint

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:5000"
SURE_BS = {"letter": "BS", "probabilities": {"BS": 0.99, "DSBS": 0.01, "UCS": 0.0}}


@pytest.fixture
def rated(client, request_body, worker):
    """Request a rating, complete its job, and return its id."""

    async def rated(seed=0, visibility="private", url=URL, headers=None, on=client, **changes):
        body = request_body(seed=seed, visibility=visibility)
        body["target"]["base_url"] = url
        job = (await on.post("/v1/jobs", json=body, headers=headers)).json()
        return worker.rate(job["id"], **changes)

    return rated


async def publish(client, rating_id, visibility="public", **options):
    return await client.post(f"/v1/ratings/{rating_id}/visibility", json={"visibility": visibility}, **options)


async def withdraw(client, rating_id, reason="A cache answered.", **options):
    return await client.post(f"/v1/ratings/{rating_id}/withdraw", json={"reason": reason}, **options)


async def logged(client):
    return (await client.get("/v1/log/entries")).json()["items"]


def digest_of(written):
    return bytes.fromhex(written.removeprefix("sha256:"))


# ---------------------------------------------------------------------------- publishing
LISTED = {"methodology", "sentence"}
"""Fields that lists write in another form than ratings."""


async def test_publishing_makes_a_rating_public_and_logs_it(client, rated):
    rating_id = await rated()
    assert await logged(client) == []
    before = (await client.get(f"/v1/ratings/{rating_id}")).headers["ETag"]
    answer = await publish(client, rating_id)
    assert (answer.status_code, answer.json()["visibility"], answer.json()["withdrawn"]) == (200, "public", None)
    shown = await client.get(f"/v1/ratings/{rating_id}")
    assert {name: shown.json()[name] for name in answer.json() if name not in LISTED} == {
        name: one for name, one in answer.json().items() if name not in LISTED
    }
    assert shown.headers["ETag"] != before
    [entry] = await logged(client)
    assert (entry["event"], entry["entry"]["rating"], entry["entry"]["letter"]) == ("published", rating_id, "DSBS")
    assert entry["entry"]["document_digest"] == rating_digest(shown.json())


async def test_a_job_with_public_visibility_is_logged_when_it_ends(client, rated):
    rating_id = await rated(visibility="public")
    assert [one["entry"]["rating"] for one in await logged(client)] == [rating_id]


async def test_publishing_a_rating_twice_logs_it_once(client, rated):
    rating_id = await rated()
    assert [(await publish(client, rating_id)).status_code for _ in range(2)] == [200, 200]
    assert len(await logged(client)) == 1


async def test_an_unlisted_rating_can_become_private_again_and_is_not_logged(client, rated):
    rating_id = await rated()
    for visibility in ("unlisted", "private"):
        assert (await publish(client, rating_id, visibility)).json()["visibility"] == visibility
    await publish(client, rating_id, "unlisted")
    await withdraw(client, rating_id)
    assert await logged(client) == []


@pytest.mark.parametrize("visibility", ["unlisted", "private"])
async def test_a_public_rating_cannot_be_hidden(client, rated, visibility):
    answer = await publish(client, await rated(visibility="public"), visibility)
    assert (answer.status_code, answer.json()["code"]) == (409, "published-for-good")
    assert len(await logged(client)) == 1


async def test_a_repeated_withdrawal_with_one_idempotency_key_gets_the_first_answer(client, rated):
    rating_id, headers = await rated(visibility="public"), {"Idempotency-Key": "once"}
    first = await withdraw(client, rating_id, headers=headers)
    again = await withdraw(client, rating_id, headers=headers)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"


# ---------------------------------------------------------------------------- withdrawing
async def test_a_withdrawn_rating_is_readable_and_marked_as_withdrawn(client, rated):
    rating_id = await rated(visibility="public")
    await withdraw(client, rating_id, "The cache was not cleared.")
    shown = (await client.get(f"/v1/ratings/{rating_id}")).json()
    assert shown["withdrawn"]["reason"] == "The cache was not cleared."
    assert shown["letter"] == "DSBS"
    assert [one["event"] for one in await logged(client)] == ["published", "withdrawn"]
    assert (await logged(client))[1]["entry"]["reason"] == "The cache was not cleared."


async def test_a_withdrawn_rating_is_neither_listed_nor_reused_for_new_requests(client, rated, request_body):
    rating_id = await rated(visibility="public")
    await withdraw(client, rating_id)
    assert (await client.get("/v1/ratings")).json()["items"] == []
    assert (await client.get("/v1/ratings/latest", params={"target_url": URL})).status_code == 404
    assert (await client.get("/v1/registry/distribution")).json()["items"] == []
    assert rating_id not in (await client.get("/v1/registry/dump.jsonl")).text
    again = await client.post("/v1/jobs", json=request_body(seed=0, max_age_s=3600, visibility="public"))
    assert again.json()["status"] == "queued"


async def test_the_list_of_ratings_shows_withdrawn_ratings_only_on_request(client, rated):
    stands, gone = await rated(1), await rated(2)
    await withdraw(client, gone)
    listed = {
        state: [one["id"] for one in (await client.get("/v1/ratings", params={"state": state})).json()["items"]]
        for state in ("standing", "withdrawn", "all")
    }
    assert listed == {"standing": [stands], "withdrawn": [gone], "all": [gone, stands]}


async def test_a_withdrawn_rating_cannot_be_withdrawn_again_or_published(client, rated):
    rating_id = await rated()
    await withdraw(client, rating_id)
    for answer in (await withdraw(client, rating_id, "Another reason."), await publish(client, rating_id)):
        assert (answer.status_code, answer.json()["code"]) == (409, "already-withdrawn")


@pytest.mark.parametrize("reason", ["", "  ", None, "x" * 2001])
async def test_a_withdrawal_needs_a_reason(client, rated, reason):
    answer = await withdraw(client, await rated(), reason)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/reason")


# ---------------------------------------------------------------------------- private ratings
async def test_another_tenants_private_rating_is_answered_like_a_missing_rating(serve, guarded, worker, rated):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    theirs = {"Authorization": f"Bearer {worker.make_key('theirs')}"}
    private = await rated(on=client, headers=mine, url="http://secret.test")
    public = await rated(seed=2, visibility="public", on=client, headers=mine)
    unknown = "rat_" + "0" * 26

    async def answers(rating_id, headers):
        asked = [
            client.get(f"/v1/ratings/{rating_id}", headers=headers),
            client.get(f"/v1/ratings/{rating_id}/difference", params={"with": public}, headers=headers),
            client.get(f"/v1/ratings/{public}/difference", params={"with": rating_id}, headers=headers),
            client.get("/v1/log/entries", params={"rating": rating_id}),
        ]
        if headers:
            asked += [publish(client, rating_id, headers=headers), withdraw(client, rating_id, headers=headers)]
        told = []
        for each in asked:
            answer = await each
            body = answer.json()
            body.pop("request_id", None)
            told.append((answer.status_code, json.dumps(body).replace(rating_id, "…"), sorted(answer.headers)))
        return told

    for headers in ({}, theirs):
        assert await answers(private, headers) == await answers(unknown, headers)
    assert (await publish(client, public, headers=theirs)).status_code == 404  # they can read it, but do not own it
    for path in ("/v1/registry/dump.jsonl", "/v1/log/entries", "/v1/registry/distribution"):
        assert private not in (text := (await client.get(path)).text)
        assert "secret.test" not in text
    there, nowhere = [
        (await client.get("/v1/registry/history", params={"target_url": url}, headers=theirs)).json()
        for url in ("http://secret.test", "http://nowhere.test")
    ]
    assert there == nowhere == {"items": [], "next_cursor": None, "total": None}


async def test_publishing_needs_an_api_key(serve, guarded, rated):
    assert (await publish(await serve(guarded), "rat_x")).status_code == 401


# ---------------------------------------------------------------------------- differences and histories
async def test_the_difference_of_two_ratings_has_the_probability_that_the_letter_changed(client, rated):
    before, after = await rated(1), await rated(2, **SURE_BS)
    found = (await client.get(f"/v1/ratings/{before}/difference", params={"with": after})).json()
    assert (found["changed"], found["letter"]["verdict"]) == (True, "changed")
    assert found["letter"]["probability"] == pytest.approx(1 - (0.004 * 0.99 + 0.996 * 0.01))
    assert "DSBS to BS" in found["sentences"][0]


async def test_the_difference_of_two_ratings_can_be_cached(client, rated):
    before, after = await rated(1), await rated(2)
    url = f"/v1/ratings/{before}/difference?with={after}"
    etag = (await client.get(url)).headers["ETag"]
    assert (await client.get(url, headers={"If-None-Match": etag})).status_code == 304


async def test_a_difference_of_ratings_for_different_attributes_is_refused(client, rated):
    before, after = await rated(1), await rated(2, attribute="race")
    answer = await client.get(f"/v1/ratings/{before}/difference", params={"with": after})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "not-the-same-question")


async def test_a_history_compares_each_rating_with_the_previous_valid_rating(client, rated):
    first, mistaken, race, last = [
        await rated(1),
        await rated(2, **SURE_BS),
        await rated(3, attribute="race"),
        await rated(4, **SURE_BS),
    ]
    await withdraw(client, mistaken)
    items = (await client.get("/v1/registry/history", params={"target_url": URL})).json()["items"]
    assert [one["id"] for one in items] == [last, race, mistaken, first]
    assert [one["since"] and one["since"]["id"] for one in items] == [first, None, None, None]
    assert items[0]["since"]["changed"] is True
    assert items[2]["withdrawn"]["reason"] == "A cache answered."


async def test_history_pages_are_complete_and_compare_ratings_across_pages(client, rated):
    made = [await rated(seed) for seed in range(3)]
    page = await client.get("/v1/registry/history", params={"target_url": URL, "limit": 2})
    rest = await client.get(page.links["next"]["url"])
    items = page.json()["items"] + rest.json()["items"]
    assert [one["id"] for one in items] == made[::-1]
    assert [one["since"] and one["since"]["id"] for one in items] == [made[1], made[0], None]


async def test_a_saved_targets_history_includes_its_earlier_addresses(client, worker, request_body):
    target = (await client.post("/v1/targets", json=request_body()["target"])).json()["id"]
    body = request_body(target={"id": target})
    first = worker.rate((await client.post("/v1/jobs", json=body)).json()["id"])
    await client.put(f"/v1/targets/{target}", json=request_body()["target"] | {"base_url": "http://elsewhere.test"})
    second = worker.rate((await client.post("/v1/jobs", json=body)).json()["id"])
    items = (await client.get(f"/v1/targets/{target}/history")).json()["items"]
    assert [one["id"] for one in items] == [second, first]
    assert items[0]["since"]["inputs"] == ["target"]
    assert (await client.get("/v1/targets/tgt_nope/history")).status_code == 404


# ---------------------------------------------------------------------------- all public ratings
async def test_the_distribution_of_letters_counts_only_the_newest_public_rating_of_each_service(client, rated, worker):
    await rated(1, "public")
    await rated(2, "public", target=described("sha256:01"), declared=False)
    await rated(3, "private", target=described("sha256:02"))
    await rated(4, "public", **SURE_BS)
    [row] = (await client.get("/v1/registry/distribution", params={"kind": "translator"})).json()["items"]
    assert row == {
        "kind": "translator",
        "attribute": "gender",
        "method": "round-trip",
        "targets": 2,
        "counts": {"UCS": 0, "DSBS": 0, "BS": 1, "inconclusive": 1},
    }
    assert (await client.get("/v1/registry/distribution", params={"kind": "classifier"})).json()["items"] == []


def described(digest):
    return {"name": "T", "kind": "translator", "protocol": "libretranslate", "url": URL, "digest": digest}


async def test_the_registry_dump_has_a_licence_and_every_public_rating(client, rated):
    made = [
        await rated(seed, visibility) for seed, visibility in enumerate(("public", "private", "unlisted", "public"))
    ]
    dump = await client.get("/v1/registry/dump.jsonl")
    first, *rest = [json.loads(line) for line in dump.text.splitlines()]
    assert (first["licence"], first["methodologies"], first["log"]["size"]) == ("CC-BY-4.0", ["1.3.0"], 2)
    assert [one["id"] for one in rest] == [made[0], made[3]]
    assert all(one["visibility"] == "public" for one in rest)
    held = {"If-None-Match": dump.headers["ETag"]}
    assert (await client.get("/v1/registry/dump.jsonl", headers=held)).status_code == 304
    await withdraw(client, made[0])
    assert (await client.get("/v1/registry/dump.jsonl", headers=held)).status_code == 200


async def test_a_registry_dump_read_from_the_database_in_batches_has_each_rating_once(client, rated, monkeypatch):
    monkeypatch.setattr("service.registry.routes.RATINGS_PER_READ", 2)
    made = [await rated(seed, "public") for seed in range(5)]
    lines = (await client.get("/v1/registry/dump.jsonl")).text.splitlines()[1:]
    assert [json.loads(line)["id"] for line in lines] == made


async def dumped(client, **query):
    answer = await client.get("/v1/registry/dump.jsonl", params=query)
    assert answer.status_code == 200
    header, *lines = map(json.loads, answer.text.splitlines())
    return header, lines, answer.headers["ETag"]


async def test_a_registry_dump_with_later_changes_applied_equals_a_new_dump(client, rated):
    made = [await rated(seed, "public") for seed in range(3)]
    header, lines, _ = await dumped(client)
    ratings = {line["id"]: line for line in lines}
    made.append(await rated(3))
    for rating_id in (made[3], made.pop(0)):
        await publish(client, rating_id)
        await withdraw(client, rating_id, "A cache answered.")
    await rated(4, "public")

    changed, changes, _ = await dumped(client, after=header["log"]["size"])
    assert (changed["after"], changed["log"]["size"]) == (3, 7)
    assert [line["withdrawn"] and line["withdrawn"]["reason"] for line in changes] == ["A cache answered.", None]
    for line in changes:
        ratings[line["id"]] = line
    new_dump = (await dumped(client))[1]
    assert [line for line in ratings.values() if line["withdrawn"] is None] == new_dump
    assert (await dumped(client, after=7))[1] == []


async def test_the_shards_of_a_registry_dump_contain_each_rating_once(client, rated):
    made = {await rated(seed, "public") for seed in range(6)}
    shards = [await dumped(client, shard=shard, shards=3) for shard in range(3)]
    assert [(header["shard"], header["shards"]) for header, *_ in shards] == [(0, 3), (1, 3), (2, 3)]
    rating_ids = [line["id"] for _, lines, _ in shards for line in lines]
    assert (len(rating_ids), set(rating_ids)) == (6, made)


async def test_each_part_of_the_registry_dump_has_its_own_etag(client, rated):
    await rated(1, "public")
    queries = [{}, {"after": 1}, {"shards": 2}, {"shards": 2, "shard": 1}, {"shards": 2, "after": 1}]
    tags = [(await dumped(client, **query))[2] for query in queries]
    assert len(set(tags)) == len(queries)
    for query in queries:
        answers = [
            await client.get("/v1/registry/dump.jsonl", params=query, headers={"If-None-Match": tag}) for tag in tags
        ]
        assert [answer.status_code for answer in answers] == [304 if query == other else 200 for other in queries]


@pytest.mark.parametrize(
    ("query", "code", "parameter"),
    [
        ({"after": 1}, "beyond-the-log", "after"),
        ({"after": -1}, "invalid-request", "after"),
        ({"shard": 1}, "bad-specification", "shard"),
        ({"shard": 3, "shards": 3}, "bad-specification", "shard"),
        ({"shards": 0}, "invalid-request", "shards"),
        ({"shards": 257}, "invalid-request", "shards"),
        ({"since": 1}, "invalid-request", "since"),
    ],
)
async def test_an_impossible_part_of_the_registry_dump_is_refused_naming_the_parameter(client, query, code, parameter):
    answer = await client.get("/v1/registry/dump.jsonl", params=query)
    assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert (answer.json()["code"], answer.json()["errors"][0]["parameter"]) == (code, parameter)


# ---------------------------------------------------------------------------- the log
async def test_the_checkpoint_of_the_public_log_is_signed_by_the_agency(client, rated, worker):
    await rated(1, "public")
    head = (await client.get("/v1/log")).json()
    with worker.database.read() as c:
        [key] = signing.all_keys(c)
    opened = open_checkpoint(head["checkpoint"], key.public_key, signing.is_signature)
    assert (opened.origin, opened.size, opened.root) == (head["origin"], 1, digest_of(head["root"]))
    assert head["key_id"] == key.id


async def test_an_empty_public_log_has_the_root_of_an_empty_merkle_tree(client):
    head = await client.get("/v1/log")
    assert (head.json()["size"], digest_of(head.json()["root"])) == (0, merkle.EMPTY_HEAD)
    assert (await client.get("/v1/log", headers={"If-None-Match": head.headers["ETag"]})).status_code == 304


async def test_proofs_show_that_the_public_log_extends_an_earlier_head_and_contains_each_entry(client, rated):
    await rated(1, "public")
    older = (await client.get("/v1/log")).json()
    for seed in range(2, 7):
        await rated(seed, "public")
    newer = (await client.get("/v1/log")).json()
    grown = (await client.get("/v1/log/proof/consistency", params={"first": older["size"]})).json()
    path = [digest_of(step) for step in grown["path"]]
    assert merkle.proves_growth(1, 6, digest_of(older["root"]), digest_of(newer["root"]), path)
    for one in await logged(client):
        leaf = merkle.leaf_hash(canonical_json(one["entry"]))
        proof = (await client.get("/v1/log/proof/inclusion", params={"position": one["position"], "size": 6})).json()
        path = [digest_of(step) for step in proof["path"]]
        assert merkle.proves_inclusion(leaf, one["position"], 6, path, digest_of(newer["root"]))


async def test_entries_of_the_public_log_are_paged_by_position(client, rated):
    made = [await rated(seed, "public") for seed in range(3)]
    page = (await client.get("/v1/log/entries", params={"limit": 2})).json()
    rest = (await client.get("/v1/log/entries", params={"limit": 2, "start": page["next_start"]})).json()
    assert [one["entry"]["rating"] for one in page["items"] + rest["items"]] == made
    assert rest["next_start"] is None
    [one] = (await client.get("/v1/log/entries", params={"rating": made[1]})).json()["items"]
    assert one["position"] == 1


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("inclusion?position=0", "position"),
        ("inclusion?position=0&size=9", "size"),
        ("consistency?first=1", "first"),
        ("consistency?first=0", "first"),
        ("consistency?first=1&second=9", "second"),
        ("inclusion?position=-1", "position"),
        ("inclusion?position=99999999999999999999", "position"),
    ],
)
async def test_a_merkle_proof_beyond_the_end_of_the_log_is_refused_naming_the_parameter(client, query, parameter):
    answer = await client.get(f"/v1/log/proof/{query}")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, parameter)
