"""Lists of jobs and ratings leave out the long parts of experiments and count them."""

from __future__ import annotations

import pytest

from service.ratings.summaries import MAX_LISTED, shorten

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


async def test_a_list_of_jobs_counts_the_parts_that_it_leaves_out(client):
    asked = await client.post("/v1/jobs", json=BODY)
    assert asked.status_code == 202, asked.text
    (listed,) = (await client.get("/v1/jobs")).json()["items"]
    job = (await client.get(f"/v1/jobs/{asked.json()['id']}")).json()
    assert len(job["experiment"]["sentences"]) == len(SENTENCES)
    assert listed["left_out"]["sentences"] == len(SENTENCES)
    assert "sentences" not in listed["experiment"]
    kept = {name: job["experiment"][name] for name in ("method", "attribute", "specification")}
    assert listed["experiment"] | kept == listed["experiment"]
    beside = {"experiment", "left_out", "queue_position"}  # `queue_position` is shown for a single job only
    assert {name: one for name, one in listed.items() if name not in beside} == {
        name: one for name, one in job.items() if name not in beside
    }


async def test_a_list_of_ratings_counts_the_parts_that_it_leaves_out(client, worker, request_body):
    experiment = {"method": "round-trip", "attribute": "gender", "sentences": SENTENCES}
    for asked in (experiment, {"method": "round-trip"}):
        job = (await client.post("/v1/jobs", json=request_body(seed=len(asked)))).json()
        worker.rate(job["id"], experiment=asked)
    little, much = (await client.get("/v1/ratings")).json()["items"]
    assert (await client.get(f"/v1/ratings/{little['id']}")).json() == little
    whole = (await client.get(f"/v1/ratings/{much['id']}")).json()
    assert whole["experiment"] == experiment
    short = {"method": "round-trip", "attribute": "gender"}
    assert much == whole | {"experiment": short, "left_out": {"sentences": len(SENTENCES)}}


async def test_a_short_experiment_is_listed_in_full(client, request_body):
    job = (await client.post("/v1/jobs", json=request_body())).json()
    (listed,) = (await client.get("/v1/jobs")).json()["items"]
    assert (listed["experiment"], listed["left_out"]) == (job["experiment"], {})


async def test_a_probe_in_a_list_has_no_experiment(client, request_body):
    body = {"target": request_body()["target"]}
    saved = (await client.post("/v1/targets", json=body["target"])).json()
    probed = await client.post(f"/v1/targets/{saved['id']}/probe")
    assert probed.status_code == 202, probed.text
    (listed,) = (await client.get("/v1/jobs")).json()["items"]
    assert (listed["experiment"], listed["left_out"]) == (None, {})


def test_long_parts_are_left_out_at_any_depth():
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
