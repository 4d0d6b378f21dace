"""Lists of jobs and ratings leave out the long parts of experiments and count them."""

from __future__ import annotations

import pytest

from service.ratings.service import MAX_LISTED, shorten
from tests.unit.service.conftest import rating_document

pytestmark = pytest.mark.anyio

SENTENCES = [{"text": f"The woman said that the receptionist had {number} keys."} for number in range(MAX_LISTED + 1)]
BODY = {
    "target": {
        "name": "M",
        "kind": "language-model",
        "protocol": "openai-completions",
        "base_url": "http://127.0.0.1:5000",
    },
    "experiment": {"method": "stereotype-score", "specification": "p4-professions", "sentences": SENTENCES},
}


async def test_listed_jobs_give_only_the_lengths_of_the_long_lists_in_their_experiment(client):
    asked = await client.post("/v1/jobs", json=BODY)
    assert asked.status_code == 202, asked.text
    (listed,) = (await client.get("/v1/jobs")).json()["items"]
    job = (await client.get(f"/v1/jobs/{asked.json()['id']}")).json()
    assert len(job["experiment"]["sentences"]) == len(SENTENCES)
    assert listed["left_out"]["sentences"] == len(SENTENCES)
    assert "sentences" not in listed["experiment"]
    kept = {name: job["experiment"][name] for name in ("method", "attribute", "specification")}
    assert listed["experiment"] | kept == listed["experiment"]
    # the place in the queue and the start are shown for a single job only
    beside = {"experiment", "left_out", "queue_position", "starts_in_seconds"}
    assert {name: one for name, one in listed.items() if name not in beside} == {
        name: one for name, one in job.items() if name not in beside
    }


async def test_listed_ratings_give_only_the_lengths_of_the_long_lists_in_their_experiment(client, worker, request_body):
    experiment = {"method": "round-trip", "attribute": "gender", "sentences": SENTENCES}
    for asked in (experiment, {"method": "round-trip"}):
        job = (await client.post("/v1/jobs", json=request_body(seed=len(asked)))).json()
        worker.rate(job["id"], experiment=asked)
    little, much = (await client.get("/v1/ratings?fields=full")).json()["items"]
    assert (await client.get(f"/v1/ratings/{little['id']}")).json() == little
    whole = (await client.get(f"/v1/ratings/{much['id']}")).json()
    assert whole["experiment"] == experiment
    short = {"method": "round-trip", "attribute": "gender"}
    assert much == whole | {"experiment": short, "left_out": {"sentences": len(SENTENCES)}}


async def test_a_short_experiment_is_listed_in_full(client, request_body):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    (listed,) = (await client.get("/v1/jobs")).json()["items"]
    assert (listed["experiment"], listed["left_out"]) == (job["experiment"], {})


async def test_a_probe_job_has_no_experiment_in_the_list_of_jobs(client, request_body):
    body = {"target": request_body()["target"]}
    saved = (await client.post("/v1/targets", json=body["target"])).json()
    probed = await client.post(f"/v1/targets/{saved['id']}/probe")
    assert probed.status_code == 202, probed.text
    (listed,) = (await client.get("/v1/jobs")).json()["items"]
    assert (listed["experiment"], listed["left_out"]) == (None, {})


def test_long_lists_of_an_experiment_are_left_out_at_any_depth():
    long, short = list(range(MAX_LISTED + 1)), list(range(MAX_LISTED))
    terms = {str(number): number for number in long}
    experiment = {
        "method": "m",
        "trials": long,
        "texts": short,
        "records": {"column": "sex", "rows": long},
        "words": [{"name": "w", "roles": terms}, {"name": "v", "roles": {}}],
    }
    told = shorten(experiment)
    assert told.left_out == {"trials": len(long), "records.rows": len(long), "words.0.roles": len(long)}
    assert told.experiment == {
        "method": "m",
        "texts": short,
        "records": {"column": "sex"},
        "words": [{"name": "w"}, {"name": "v", "roles": {}}],
    }
    assert experiment["trials"] is long


LONG = [{"name": "es", "letter": "DSBS", "declared": True, "examples": [{"asked": "He is a nurse."}] * 3000}]


@pytest.mark.slow
async def test_a_list_of_100_ratings_has_at_most_100_kb(client, worker, request_body):
    for seed in range(100):
        job = (await client.post("/v1/jobs", json=request_body(seed=seed))).json()
        worker.rate(job["id"], components=LONG)
    listed = await client.get("/v1/ratings?limit=100")
    assert len(listed.json()["items"]) == 100
    assert len(listed.content) <= 100_000
    assert len((await client.get("/v1/ratings?limit=1&fields=full")).content) > 60_000


async def test_publishing_or_withdrawing_a_rating_returns_a_summary_of_it(client, worker, request_body):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    address = f"/v1/ratings/{worker.rate(job['id'], examples=LONG)}"
    published = await client.post(f"{address}/visibility", json={"visibility": "public"})
    withdrawn = await client.post(f"{address}/withdraw", json={"reason": "A cache answered."})
    assert (published.json()["visibility"], withdrawn.json()["withdrawn"]["reason"]) == ("public", "A cache answered.")
    assert max(len(published.content), len(withdrawn.content)) <= 10_000


async def test_a_summary_has_the_same_values_as_its_rating(client, worker, request_body):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    whole = (await client.get(f"/v1/ratings/{worker.rate(job['id'])}")).json()
    (short,) = (await client.get("/v1/ratings")).json()["items"]
    assert short.pop("methodology") == {"version": "1.3.0"}
    short.pop("sentence")  # see tests/e2e/test_the_agency_story.py
    assert short == {name: whole[name] for name in short}


async def test_ratings_are_filtered_by_the_digest_of_one_service_among_several_at_one_url(client, worker, request_body):
    made = {}
    for seed, digit in enumerate("1221"):
        job = (await client.post("/v1/jobs", json=request_body(seed=seed))).json()
        target = rating_document()["target"] | {"digest": f"sha256:{digit * 64}"}
        made.setdefault(digit, []).insert(0, worker.rate(job["id"], target=target))
    made["3"] = []
    for digit, expected in made.items():
        listed = (await client.get("/v1/ratings", params={"digest": f"sha256:{digit * 64}"})).json()
        assert [row["id"] for row in listed["items"]] == expected


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=TRANSL", ["My translator"]),
        ("q=127.0.0.1:6", ["100 % fair"]),
        ("q=%25", ["100 % fair"]),
        ("q=nobody", []),
        ("kind=translator", ["My translator", "100 % fair"]),
        ("kind=embedder", []),
    ],
)
@pytest.mark.parametrize("resource", ["ratings", "targets", "jobs"])
async def test_lists_are_filtered_by_name_address_and_kind(client, worker, request_body, resource, query, found):
    for name, port in (("100 % fair", 6000), ("My translator", 5000)):
        target = request_body()["target"] | {"name": name, "base_url": f"http://127.0.0.1:{port}"}
        await client.post("/v1/targets", json=target)
        job = (await client.post("/v1/jobs", json=request_body(target=target))).json()
        worker.rate(job["id"], target={"name": name, "kind": "translator", "protocol": "p", "url": "", "digest": "d"})
    if resource == "jobs" and query.startswith("kind"):
        query, found = ("kind=rating", found) if found else ("kind=probe", [])
    listed = (await client.get(f"/v1/{resource}?{query}")).json()["items"]
    assert [one["name"] if resource == "targets" else one["target"]["name"] for one in listed] == found


async def test_the_filter_mine_leaves_out_public_ratings_of_other_tenants(serve, guarded, worker, request_body):
    client, ids = await serve(guarded), {}
    keys = {tenant: {"Authorization": f"Bearer {worker.make_key(tenant)}"} for tenant in ("mine", "theirs")}
    for tenant, headers in keys.items():
        body = request_body(visibility="public")
        job = (await client.post("/v1/jobs", json=body, headers=headers)).json()
        ids[tenant] = worker.rate(job["id"])

    async def listed(query="", **options):
        return {one["id"] for one in (await client.get(f"/v1/ratings{query}", **options)).json()["items"]}

    assert await listed(headers=keys["mine"]) == set(ids.values())
    assert await listed("?mine=true", headers=keys["mine"]) == {ids["mine"]}
    assert await listed("?mine=true") == set()


async def test_the_list_of_jobs_leaves_out_a_long_list_of_languages_unless_all_fields_are_requested(
    client, request_body
):
    experiment = request_body()["experiment"] | {"languages": ["es", "fr", "de", "it", "pt", "nl", "sv", "da", "fi"]}
    await client.post("/v1/jobs", json=request_body(experiment=experiment))
    (short,) = (await client.get("/v1/jobs")).json()["items"]
    (whole,) = (await client.get("/v1/jobs?fields=full")).json()["items"]
    assert short["left_out"] == {"languages": 9}
    assert (whole["left_out"], whole["experiment"]["languages"]) == ({}, experiment["languages"])


async def test_a_cursor_of_the_short_list_of_ratings_is_valid_for_the_list_with_all_fields(
    client, worker, request_body
):
    for seed in (1, 2):
        worker.rate((await client.post("/v1/jobs", json=request_body(seed=seed))).json()["id"])
    cursor = (await client.get("/v1/ratings?limit=1")).json()["next_cursor"]
    (last,) = (await client.get(f"/v1/ratings?fields=full&cursor={cursor}")).json()["items"]
    assert "components" in last
