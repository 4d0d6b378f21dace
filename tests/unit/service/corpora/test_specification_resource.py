"""Versioned word lists: `/v1/specifications`."""

from __future__ import annotations

import copy

import pytest

from service.http.openapi.document import EXAMPLES

pytestmark = pytest.mark.anyio

CHOICES, ASSOCIATION = (EXAMPLES["ChoicesRequest"][kind]["value"] for kind in ("choices", "association"))
URL = "/v1/specifications"


def changed(body=CHOICES, **changes):
    return copy.deepcopy(body) | changes


async def test_a_new_word_specification_gets_version_1_and_can_be_read(client):
    made = await client.post(URL, json=CHOICES)
    assert made.status_code == 201, made.text
    assert made.headers["Location"] == f"{URL}/ward-work/versions/1"
    for address in (made.headers["Location"], f"{URL}/ward-work"):
        assert (await client.get(address)).json() == made.json()
    shown = made.json()
    assert (shown["version"], shown["latest"], shown["shipped"]) == (1, 1, False)
    assert shown["words"] == CHOICES["words"] | {"name": "ward-work"}
    assert shown["digest"].startswith("sha256:")


async def test_adding_a_version_of_a_word_specification_leaves_earlier_versions_unchanged(client):
    await client.post(URL, json=CHOICES)
    added = await client.post(f"{URL}/ward-work/versions", json=changed(title="Work, revised"))
    assert (added.status_code, added.json()["version"]) == (201, 2)
    first = (await client.get(f"{URL}/ward-work/versions/1")).json()
    assert (first["title"], first["latest"]) == (CHOICES["title"], 2)
    assert (await client.get(f"{URL}/ward-work")).json()["version"] == 2
    assert first["digest"] != added.json()["digest"]


async def test_sending_a_word_specification_again_unchanged_adds_no_version(client):
    await client.post(URL, json=CHOICES)
    again = await client.post(f"{URL}/ward-work/versions", json=CHOICES)
    assert (again.status_code, again.json()["version"]) == (200, 1)


async def test_a_word_specification_cannot_take_the_name_of_an_existing_or_built_in_one(client):
    await client.post(URL, json=CHOICES)
    shipped = (await client.get(URL, params={"kind": "choices"})).json()["items"][-1]
    assert shipped["shipped"]
    for name in (CHOICES["name"], shipped["name"]):
        refused = await client.post(URL, json=changed(name=name))
        assert (refused.status_code, refused.json()["code"]) == (409, "name-taken")
    for method, address in (("POST", f"{URL}/{shipped['name']}/versions"), ("DELETE", f"{URL}/{shipped['name']}")):
        body = changed(name=shipped["name"]) if method == "POST" else None
        assert (await client.request(method, address, json=body)).status_code == 404


async def test_a_specification_created_again_after_removal_continues_its_version_numbers(client):
    await client.post(URL, json=CHOICES)
    assert (await client.delete(f"{URL}/ward-work")).status_code == 204
    for method, address in (
        ("GET", f"{URL}/ward-work"),
        ("GET", f"{URL}/ward-work/versions/1"),
        ("DELETE", f"{URL}/ward-work"),
    ):
        assert (await client.request(method, address)).status_code == 404
    assert (await client.post(URL, json=changed(title="Another"))).json()["version"] == 2
    assert (await client.get(f"{URL}/ward-work/versions/1")).status_code == 404


async def test_own_word_specifications_are_listed_before_the_built_in_ones(client):
    await client.post(URL, json=CHOICES)
    await client.post(URL, json=ASSOCIATION)
    names, page = [], await client.get(URL, params={"limit": 3})
    while True:
        names += [one["name"] for one in page.json()["items"]]
        if "next" not in page.links:
            break
        page = await client.get(page.links["next"]["url"])
    whole = (await client.get(URL, params={"limit": 200})).json()["items"]
    assert names == [one["name"] for one in whole]
    assert (set(names[:2]), len(names), len(set(names))) == ({"ward-work", "old-and-young"}, len(whole), len(whole))
    kinds = {one["kind"] for one in (await client.get(URL, params={"kind": "association"})).json()["items"]}
    assert kinds == {"association"}


async def test_every_built_in_word_specification_can_be_read(client):
    listed = (await client.get(URL, params={"limit": 200})).json()["items"]
    assert len(listed) >= 5
    for one in listed:
        shown = await client.get(one["href"])
        assert (shown.status_code, shown.json()["digest"], shown.json()["created_at"]) == (200, one["digest"], None)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"name": "Not Kebab"}, "/name"),
        ({"language": "xx-nonsense-tag"}, "/language"),
        ({"kind": "telepathy"}, "/kind"),
        ({"citation": ""}, "/citation"),
        ({"words": CHOICES["words"] | {"cues": [["she", "she"]]}}, "/words/cues/0"),
        ({"words": CHOICES["words"] | {"concepts": {"nurse": 7}}}, "/words/concepts/nurse"),
        ({"words": CHOICES["words"] | {"wrods": []}}, "/words/wrods"),
        ({"words": {}}, "/words/attribute"),
        ({"colour": "red"}, "/colour"),
    ],
)
async def test_an_invalid_specification_is_refused_naming_the_invalid_field(client, changes, pointer):
    answer = await client.post(URL, json=changed(**changes))
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer), answer.text


async def test_a_new_version_of_a_word_specification_must_keep_its_name_and_kind(client):
    await client.post(URL, json=CHOICES)
    for body, pointer in ((changed(name="another"), "/name"), (changed(ASSOCIATION, name="ward-work"), "/kind")):
        refused = await client.post(f"{URL}/ward-work/versions", json=body)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_language_tags_are_normalised(client):
    assert (await client.post(URL, json=changed(language="PT-br"))).json()["language"] == "pt-BR"


async def test_a_word_specification_can_be_read_only_by_its_owner(serve, guarded, worker):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    theirs = {"Authorization": f"Bearer {worker.make_key('theirs')}"}
    await client.post(URL, json=CHOICES, headers=mine)
    for method in ("GET", "DELETE"):
        assert (await client.request(method, f"{URL}/ward-work", headers=theirs)).status_code == 404
    assert (await client.post(URL, json=CHOICES, headers=theirs)).status_code == 201


async def test_a_repeated_request_with_one_idempotency_key_stores_one_specification(client):
    first, again = [await client.post(URL, json=CHOICES, headers={"Idempotency-Key": "abc"}) for _ in range(2)]
    assert (again.status_code, again.content) == (201, first.content)
