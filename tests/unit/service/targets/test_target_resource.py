"""Saved targets, their secrets, and probes: `/v1/targets`."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import SecretStr

from store.core.errors import SecretMoved
from store.jobs import jobs
from store.security.secrets import Vault
from store.targets import targets
from tests.unit.service.conftest import rating_document

pytestmark = pytest.mark.anyio

SECRET = "top-secret-key-0123456789-x9f2"
DEEPL = {
    "name": "DeepL",
    "kind": "translator",
    "protocol": "deepl",
    "base_url": "http://127.0.0.1:5001",
    "secret": SECRET,
}


async def save(client, **changes):
    answer = await client.post("/v1/targets", json=DEEPL | changes)
    assert answer.status_code == 201, answer.text
    return answer


async def test_a_saved_target_can_be_read_but_not_its_secret(client):
    saved = await save(client)
    assert saved.headers["Location"] == f"/v1/targets/{saved.json()['id']}"
    for answer in (saved, await client.get(saved.headers["Location"]), await client.get("/v1/targets")):
        assert SECRET not in answer.text
    shown = (await client.get(saved.headers["Location"])).json()
    assert (shown["secret_hint"], shown["limits"]["concurrency"]) == ("…x9f2", 8)
    assert "secret" not in shown


async def test_a_saved_target_without_a_secret_has_null_as_its_secret_hint(client):
    assert (await save(client, protocol="libretranslate", secret=None)).json()["secret_hint"] is None


async def test_a_secret_is_encrypted_and_bound_to_its_target(client, settings, worker):
    target_id = (await save(client)).json()["id"]
    with worker.database.read() as c:
        row = targets.find(c, target_id, "default")
    assert SECRET.encode() not in row.sealed_secret.ciphertext
    place = {"tenant": "default", "target": target_id, "description": targets.descriptor(row)}
    opened = Vault.from_settings(settings).open_for_target(row.sealed_secret, **place)
    assert opened == SECRET


async def test_a_secret_sent_with_a_job_is_encrypted_for_that_job_and_never_shown(
    client, settings, worker, request_body
):
    answer = await client.post("/v1/jobs", json=request_body(target=DEEPL))
    job_id = answer.json()["id"]
    assert SECRET not in answer.text
    assert SECRET not in (await client.get(f"/v1/jobs/{job_id}")).text
    with worker.database.read() as c:
        job = jobs.find(c, job_id, None)
    place = {"tenant": "default", "target": job_id, "description": job.target}
    opened = Vault.from_settings(settings).open_for_target(job.sealed_secret, **place)
    assert opened == SECRET


async def test_a_replaced_target_keeps_its_secret_unless_another_secret_is_sent(client):
    url = (await save(client)).headers["Location"]
    rest = {key: value for key, value in DEEPL.items() if key != "secret"}
    kept = await client.put(url, json=rest | {"name": "Renamed"})
    assert (kept.json()["name"], kept.json()["secret_hint"]) == ("Renamed", "…x9f2")
    changed = await client.put(url, json=rest | {"secret": "another-secret-of-mine-abcd"})
    assert changed.json()["secret_hint"] == "…abcd"
    refused = await client.put(url, json=rest | {"secret": None})
    assert refused.json()["errors"][0]["pointer"] == "/secret"
    removed = await client.put(url, json=rest | {"secret": None, "protocol": "libretranslate"})
    assert removed.json()["secret_hint"] is None


DECLARED = {"path": "/mt", "auth": "header"}
CUSTOM = {
    "name": "ours",
    "kind": "translator",
    "protocol": "own-interface",
    "base_url": "http://127.0.0.1:9/a",
    "settings": DECLARED,
    "secret": "a-secret-for-one-place-x9f2",
}


# Row 68 of docs/reliability.md: at c37b512 the stored secret was sent to the new address.
@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "https://127.0.0.1:9/a"},
        {"base_url": "http://127.0.0.2:9/a"},
        {"base_url": "http://127.0.0.1:10/a"},
        {"protocol": "libretranslate", "settings": {}},
        {"settings": DECLARED | {"auth": "query"}},
        {"settings": DECLARED | {"auth_name": "X-Key"}},
        {"settings": DECLARED | {"auth_value": "{secret}"}},
    ],
)
async def test_a_change_of_address_protocol_or_authentication_requires_the_secret_again(
    client, worker, settings, change
):
    # guards against eb55f1e, where the stored secret was sent to the new address
    created = await client.post("/v1/targets", json=CUSTOM)
    assert created.status_code == 201, created.text
    url, target_id = created.headers["Location"], created.json()["id"]
    rest = {key: value for key, value in CUSTOM.items() if key != "secret"}
    refused = await client.put(url, json=rest | change)
    assert (refused.status_code, refused.json()["code"]) == (422, "secret-required")
    assert (await client.get(url)).json()["base_url"] == CUSTOM["base_url"]
    changed = await client.put(url, json=rest | change | {"secret": "another-secret-of-mine-abcd"})
    assert changed.json()["secret_hint"] == "…abcd"
    with worker.database.read() as c:
        row = targets.find(c, target_id, "default")
    vault, place = Vault.from_settings(settings), {"tenant": "default", "target": target_id}
    described = targets.descriptor(row)
    assert vault.open_for_target(row.sealed_secret, **place, description=described) == "another-secret-of-mine-abcd"
    with pytest.raises(SecretMoved):
        vault.open_for_target(row.sealed_secret, **place, description=CUSTOM)


@pytest.mark.parametrize("change", [{"base_url": "http://127.0.0.1:9/b"}, {"settings": DECLARED | {"path": "/nmt"}}])
async def test_a_stored_secret_is_kept_if_only_the_path_changes(client, change):
    url = (await client.post("/v1/targets", json=CUSTOM)).headers["Location"]
    rest = {key: value for key, value in CUSTOM.items() if key != "secret"}
    assert (await client.put(url, json=rest | change)).json()["secret_hint"] == "…x9f2"


async def test_a_removed_target_is_404(client):
    url = (await save(client)).headers["Location"]
    assert (await client.delete(url)).status_code == 204
    for method in ("GET", "DELETE"):
        assert (await client.request(method, url)).status_code == 404
    assert (await client.put(url, json=DEEPL)).status_code == 404
    assert (await client.get("/v1/targets")).json()["items"] == []


async def test_only_an_unchanged_target_is_304(client):
    url = (await save(client)).headers["Location"]
    held = {"If-None-Match": (await client.get(url)).headers["ETag"]}
    assert (await client.get(url, headers=held)).status_code == 304
    await client.put(url, json=DEEPL | {"name": "Renamed"})
    assert (await client.get(url, headers=held)).status_code == 200


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"protocol": "telepathy"}, "/protocol"),
        ({"base_url": None}, "/base_url"),
        ({"secret": None}, "/secret"),
        ({"secret": ""}, "/secret"),
        ({"settings": {"model": 7}}, "/settings/model"),
        ({"kind": "oracle"}, "/kind"),
        ({"kind": "embedder"}, "/kind"),
    ],
)
async def test_an_invalid_target_is_refused_naming_the_invalid_field(client, changes, pointer):
    answer = await client.post("/v1/targets", json=DEEPL | changes)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_a_job_can_name_a_saved_target(client, request_body, worker):
    target = (await save(client)).json()
    answer = await client.post("/v1/jobs", json=request_body(target={"id": target["id"]}))
    job = answer.json()
    assert (answer.status_code, job["target_id"], job["target"]["base_url"]) == (202, target["id"], DEEPL["base_url"])


async def test_a_job_that_names_an_unknown_target_is_refused(client, request_body):
    answer = await client.post("/v1/jobs", json=request_body(target={"id": "tgt_nope"}))
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/target/id")


async def test_only_its_owner_can_read_a_target(serve, guarded, worker, request_body):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    theirs = {"Authorization": f"Bearer {worker.make_key('theirs')}"}
    url = (await client.post("/v1/targets", json=DEEPL, headers=mine)).headers["Location"]
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/probe")):
        assert (await client.request(method, url + path, headers=theirs)).status_code == 404
    body = request_body(target={"id": url.rpartition("/")[2]})
    assert (await client.post("/v1/jobs", json=body, headers=theirs)).status_code == 422


async def test_a_repeated_request_with_one_idempotency_key_saves_one_target(client):
    first = await client.post("/v1/targets", json=DEEPL, headers={"Idempotency-Key": "abc"})
    again = await client.post("/v1/targets", json=DEEPL, headers={"Idempotency-Key": "abc"})
    assert (again.status_code, again.content) == (201, first.content)
    assert len((await client.get("/v1/targets")).json()["items"]) == 1


async def test_probing_a_target_creates_a_job(client, rings):
    url = (await save(client)).headers["Location"]
    answer = await client.post(f"{url}/probe")
    job = answer.json()
    assert (answer.status_code, job["kind"], job["status"]) == (202, "probe", "queued")
    assert answer.headers["Location"] == f"/v1/jobs/{job['id']}"


async def test_a_finished_probe_with_prefer_wait_is_200_with_its_result(client, worker, first_job):
    url = (await save(client)).headers["Location"]

    async def work():
        job_id = await first_job()
        claim = await asyncio.to_thread(worker.claim, job_id)
        with worker.database.write() as c:
            jobs.finish_with(c, claim, "probed", {"order_kept": True, "latency_ms": 12})

    working = asyncio.create_task(work())
    answer = await client.post(f"{url}/probe", headers={"Prefer": "wait=10"})
    await working
    assert (answer.status_code, answer.json()["result"]) == (200, {"order_kept": True, "latency_ms": 12})
    assert answer.headers["Preference-Applied"] == "wait=10"


async def test_a_secret_that_cannot_be_decrypted_is_409_secret_lost(client, serve, settings, request_body):
    target = (await save(client)).json()
    other = settings.model_copy(update={"secret_key": SecretStr("another-operators-key-0123456789")})
    client = await serve(other)
    for answer in (
        await client.post("/v1/jobs", json=request_body(target={"id": target["id"]})),
        await client.post(f"/v1/targets/{target['id']}/probe"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "secret_lost")
    assert (await client.put(f"/v1/targets/{target['id']}", json=DEEPL)).status_code == 200


async def test_a_job_does_not_copy_a_saved_targets_secret(client, worker, request_body):
    target = (await save(client)).json()
    job_id = (await client.post("/v1/jobs", json=request_body(target={"id": target["id"]}))).json()["id"]
    with worker.database.read() as c:
        assert jobs.find(c, job_id, None).sealed_secret is None


async def test_targets_are_paged(client):
    made = [(await save(client, name=f"T{n}")).json()["id"] for n in range(3)]
    page = await client.get("/v1/targets", params={"limit": 2})
    rest = await client.get(page.links["next"]["url"])
    assert [one["id"] for one in page.json()["items"] + rest.json()["items"]] == made[::-1]


async def test_the_list_of_targets_has_the_newest_letter_of_each(client, request_body, worker):
    saved = [(await save(client, name=name, settings={"formality": name})).json() for name in ("more", "less")]
    made = []
    for seed, letter in enumerate(("BS", "UCS")):
        job = (await client.post("/v1/jobs", json=request_body(seed=seed))).json()["id"]
        described = rating_document()["target"] | {"digest": saved[0]["digest"]}
        made.append(worker.rate(job, letter=letter, target=described))
    listed = {row["name"]: row["newest"] for row in (await client.get("/v1/targets")).json()["items"]}
    assert listed["less"] is None
    assert (listed["more"]["id"], listed["more"]["letter"]) == (made[1], "UCS")
    assert (await client.get(listed["more"]["href"])).json()["rated_at"] == listed["more"]["rated_at"]
    await client.post(f"/v1/ratings/{made[1]}/withdraw", json={"reason": "a mistake"})
    listed = {row["name"]: row["newest"] for row in (await client.get("/v1/targets")).json()["items"]}
    assert (listed["more"]["id"], listed["more"]["letter"]) == (made[0], "BS")


# ---------------------------------------------------------------------------- probes of unsaved targets
async def probed(client, worker, first_job, body, result=None):
    async def work():
        claim = await asyncio.to_thread(worker.claim, await first_job())
        with worker.database.read() as c:
            kept = jobs.find(c, claim.job.id, None).sealed_secret
        with worker.database.write() as c:
            if result is None:
                jobs.fail(c, claim, {"type": "/problems/x", "title": "x", "detail": "x", "code": "target_refused"})
            else:
                jobs.finish_with(c, claim, "probed", result)
        return kept

    working = asyncio.create_task(work())
    answer = await client.post("/v1/targets/probe", json=body, headers={"Prefer": "wait=30"})
    return answer, await working


@pytest.mark.parametrize("result", [{"reading": "La casa", "latency_s": 0.2}, None])
async def test_an_unsaved_target_can_be_probed_and_its_secret_is_deleted_afterwards(client, worker, first_job, result):
    answer, kept = await probed(client, worker, first_job, DEEPL, result)
    job = answer.json()
    assert (answer.status_code, job["result"], job["target_id"]) == (200 if result else 202, result, None)
    assert kept is not None
    with worker.database.read() as c:
        assert jobs.find(c, job["id"], None).sealed_secret is None
    assert DEEPL["secret"] not in answer.text
    assert (await client.get("/v1/targets")).json()["items"] == []


async def test_probes_of_one_target_with_different_secrets_are_different_jobs(client):
    now = {"Prefer": "wait=0"}
    first = await client.post("/v1/targets/probe", json=DEEPL, headers=now)
    second = await client.post("/v1/targets/probe", json=DEEPL | {"secret": "another:fx"}, headers=now)
    assert first.status_code == second.status_code == 202
    assert first.json()["id"] != second.json()["id"]


async def test_an_invalid_unsaved_target_is_not_probed(client, rings):
    answer = await client.post("/v1/targets/probe", json=DEEPL | {"secret": None})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/secret")
    assert rings.heard == []
