"""Jobs requested without a seed: random seeds, commitments to them, and equal requests, which still join one job.

Row 91 of docs/reliability.md: at ffe18d3c every rating asked the questions of seed 0, and calls named agency, job and
block.
"""

import pytest

from assay.canonical import commitment_of
from assay.experiment import generator
from store.jobs import jobs
from store.ratings.experiment_json import parse_method

pytestmark = pytest.mark.anyio


async def post(client, request_body, **changes) -> dict:
    answer = await client.post("/v1/jobs", json=request_body(**{"seed": None} | changes))
    assert answer.status_code in {200, 202}, answer.text
    return answer.json()


async def ended(client, job: dict) -> dict:
    return (await client.get(f"/v1/jobs/{job['id']}")).json()


def first_texts(job: dict) -> set[str]:
    design = parse_method(job["experiment"]).design(generator(job["seed"]))
    return {probe.ask.text for probe in next(design)}


async def test_two_jobs_without_a_seed_send_different_texts(client, request_body, worker):
    for_ratings = []
    for _ in range(2):
        job = await post(client, request_body)
        worker.rate(job["id"])
        for_ratings.append(await ended(client, job))
    first, second = for_ratings
    assert first["seed"] != second["seed"]
    assert 0 <= first["seed"] < 2**53
    assert not first_texts(first) & first_texts(second)


async def test_a_random_seed_is_hidden_until_the_job_ends_so_that_nobody_can_cancel_until_a_seed_suits(
    client, request_body, worker
):
    job = await post(client, request_body)
    claim = worker.claim(job["id"])
    seed = claim.job.seed
    running = await ended(client, job)
    listed = (await client.get("/v1/jobs")).json()["items"][0]
    assert [job["seed"], running["seed"], listed["seed"]] == [None, None, None]
    assert str(seed) not in f"{job} {running} {listed}"
    worker.finish(claim)
    assert (await ended(client, job))["seed"] == seed
    assert (await client.get("/v1/jobs")).json()["items"][0]["seed"] == seed


async def test_a_cancelled_job_shows_its_random_seed_and_the_next_job_has_another(client, request_body):
    cancelled = []
    for _ in range(2):
        job = await post(client, request_body)
        assert job["seed"] is None
        await client.post(f"/v1/jobs/{job['id']}/cancel")
        cancelled.append(await ended(client, job))
    assert [job["status"] for job in cancelled] == ["cancelled", "cancelled"]
    assert cancelled[0]["seed"] != cancelled[1]["seed"]
    assert None not in {job["seed"] for job in cancelled}


async def test_a_running_job_of_the_same_request_without_a_seed_is_joined(client, request_body):
    assert (await post(client, request_body))["id"] == (await post(client, request_body))["id"]


async def test_a_fresh_rating_answers_an_equal_request_without_a_seed_and_shows_its_seed(request_body, client, worker):
    first = await post(client, request_body)
    worker.rate(first["id"])
    again = await post(client, request_body, max_age_s=3600)
    assert (again["status"], again["commitment"]) == ("succeeded", None)
    rating = (await client.get(again["rating"]["href"])).json()
    assert again["seed"] == rating["seed"]


async def test_a_seed_in_the_request_is_used_and_another_or_no_seed_creates_another_job(client, request_body, worker):
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
    assert shown["commitment"] == commitment_of(shown["experiment"], job.seed, job.nonce)
    assert len(job.nonce) == 32
    assert job.nonce not in str(shown)


async def test_a_seed_in_the_request_needs_no_nonce_so_that_the_rating_is_reproducible(client, request_body):
    shown = await post(client, request_body, seed=5)
    assert shown["commitment"] == commitment_of(shown["experiment"], 5, "")


async def test_each_cell_of_a_suite_without_a_seed_has_a_seed_of_its_own(client, request_body, worker):
    target = request_body()["target"]
    suite = {"target": target, "methods": ["round-trip"], "attributes": ["gender"], "languages": ["es", "fr", "de"]}
    assert (await client.post("/v1/suites", json=suite)).status_code == 202
    listed = (await client.get("/v1/jobs")).json()["items"]
    with worker.database.read() as c:
        seeds = {jobs.find(c, job["id"], "default").seed for job in listed}
    assert len(seeds) == len(listed) == 3
    assert (await client.post("/v1/suites", json=suite)).status_code == 202
    assert len((await client.get("/v1/jobs")).json()["items"]) == 3  # the second suite joined the jobs of the first


async def test_equal_requests_about_a_table_larger_than_a_job_join_one_job_and_sample_other_rows_each_time(
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
