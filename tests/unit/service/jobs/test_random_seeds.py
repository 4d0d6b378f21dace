"""Ratings without a seed in their request: random seeds and commitments to them; equal requests stay equal.

Row 91 of docs/reliability.md: at ffe18d3c every rating asked the questions of seed 0, and calls named agency, job and
block.
"""

import pytest

from assay.canonical import commitment_of
from assay.experiment import generator
from store.ratings.experiment_json import parse_method

pytestmark = pytest.mark.anyio


async def post(client, request_body, **changes) -> dict:
    answer = await client.post("/v1/jobs", json=request_body(**{"seed": None} | changes))
    assert answer.status_code in {200, 202}, answer.text
    return answer.json()


def first_texts(job: dict) -> set[str]:
    design = parse_method(job["experiment"]).design(generator(job["seed"]))
    return {probe.ask.text for probe in next(design)}


async def test_ratings_without_a_seed_ask_other_texts_each(client, request_body, worker):
    first = await post(client, request_body)
    worker.rate(first["id"])
    second = await post(client, request_body)
    assert first["seed"] != second["seed"]
    assert 0 <= first["seed"] < 2**53
    assert not first_texts(first) & first_texts(second)


async def test_a_running_job_of_the_same_request_without_a_seed_is_joined(client, request_body):
    assert (await post(client, request_body))["id"] == (await post(client, request_body))["id"]


async def test_a_rating_answers_the_same_request_without_a_seed_and_its_seed_is_shown(request_body, client, worker):
    first = await post(client, request_body)
    worker.rate(first["id"])
    again = await post(client, request_body, max_age_s=3600)
    assert (again["status"], again["commitment"]) == ("succeeded", None)
    rating = (await client.get(again["rating"]["href"])).json()
    assert again["seed"] == rating["seed"]


async def test_a_seed_in_the_request_is_used_and_another_seed_is_another_request(client, request_body, worker):
    given = await post(client, request_body, seed=5)
    assert given["seed"] == 5
    worker.rate(given["id"])
    assert (await post(client, request_body, seed=5, max_age_s=3600))["status"] == "succeeded"
    assert (await post(client, request_body, seed=6, max_age_s=3600))["status"] == "queued"
    assert (await post(client, request_body, max_age_s=3600))["status"] == "queued"


async def test_an_accepted_job_is_committed_to_its_experiment_and_seed_but_does_not_show_the_nonce(
    client, request_body, worker
):
    shown = await post(client, request_body)
    job = worker.claim(shown["id"]).job
    assert shown["commitment"] == commitment_of(shown["experiment"], shown["seed"], job.nonce)
    assert len(job.nonce) == 32
    assert job.nonce not in str(shown)


async def test_a_seed_in_the_request_needs_no_nonce_so_that_the_rating_is_reproducible(client, request_body):
    shown = await post(client, request_body, seed=5)
    assert shown["commitment"] == commitment_of(shown["experiment"], 5, "")


async def test_each_cell_of_a_suite_without_a_seed_has_a_seed_of_its_own(client, request_body):
    target = request_body()["target"]
    suite = {"target": target, "methods": ["round-trip"], "attributes": ["gender"], "languages": ["es", "fr", "de"]}
    assert (await client.post("/v1/suites", json=suite)).status_code == 202
    listed = (await client.get("/v1/jobs")).json()["items"]
    assert len({job["seed"] for job in listed}) == len(listed) == 3
    assert (await client.post("/v1/suites", json=suite)).status_code == 202
    assert len((await client.get("/v1/jobs")).json()["items"]) == 3  # the second suite joined the jobs of the first


async def test_a_table_larger_than_a_job_gives_other_rows_each_time_and_is_still_the_same_request(
    request_body, client, worker
):
    rows = b"sex,x\n" + b"".join(b"%s,%d\n" % ((b"f", b"m")[n % 2], n) for n in range(200))
    sent = await client.post(
        "/v1/uploads", params={"name": "t", "purpose": "table"}, content=rows, headers={"Content-Type": "text/csv"}
    )
    upload = sent.json()
    records = {"upload": upload["digest"], "column": "sex", "values": ["f", "m"], "most": 40}
    about = {
        "target": {
            "name": "T",
            "kind": "classifier",
            "protocol": "mlflow",
            "base_url": "http://127.0.0.1:5000",
            "settings": {},
        },
        "experiment": {"method": "alternation", "attribute": "sex", "records": records},
    }
    first = await post(client, request_body, **about)
    assert (await post(client, request_body, **about))["id"] == first["id"]
    worker.rate(first["id"])
    assert (await post(client, request_body, **about, max_age_s=3600))["status"] == "succeeded"
    second = await post(client, request_body, **about)
    asked = [{row["x"] for row in job["experiment"]["records"]["rows"]} for job in (first, second)]
    assert [len(some) for some in asked] == [40, 40]
    assert asked[0] != asked[1]
