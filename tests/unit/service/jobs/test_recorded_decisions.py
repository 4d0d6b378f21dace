"""Jobs about recorded decisions: an uploaded table is counted once, and rated without a call."""

from __future__ import annotations

import csv
import io
import json
import threading

import numpy as np
import pytest

from service.app import create_app
from tests.unit.service.conftest import client_of
from workers.engine.tasks import open_workplace
from workers.run_job import run_job
from workers.targets.validation import TargetChecker

pytestmark = pytest.mark.anyio

EXPERIMENT = {
    "method": "outcomes",
    "by": ["sex"],
    "decision": "hired",
    "favourable": "yes",
    "truth": "stayed",
    "period": "2026-01..2026-06",
}


def table(people: int = 6000, women: float = 0.5) -> bytes:
    """Return a table of people; of those who stay, women are hired with a probability of `women`, men with .8."""
    rng = np.random.default_rng(3)
    lines = ["name,sex,hired,stayed"]
    for number in range(people):
        sex, stayed = ("F", "M")[rng.integers(2)], rng.random() < 0.5
        hired = rng.random() < ((women if sex == "F" else 0.8) if stayed else 0.2)
        lines.append(f"Person {number},{sex},{'yes' if hired else 'no'},{'yes' if stayed else 'no'}")
    return "\n".join(lines).encode()


@pytest.fixture
async def real(settings, rings):
    app = create_app(settings, validator=TargetChecker(settings), doorbell=rings)
    async with app.router.lifespan_context(app), client_of(app) as client:
        yield client


async def upload(client, content: bytes) -> str:
    sent = await client.post(
        "/v1/uploads",
        params={"purpose": "table", "name": "2026"},
        content=content,
        headers={"Content-Type": "text/csv"},
    )
    assert sent.status_code == 201, sent.text
    return sent.json()["id"]


def body(name: str, **changes) -> dict:
    target = {"name": "Hirer 3", "kind": "decision-tool", "protocol": "uploaded", "settings": {"upload": name}}
    return {"target": target, "experiment": EXPERIMENT | changes, "seed": 4}


def work(settings, job_id: str) -> None:
    workplace = open_workplace(settings)
    try:
        thread = threading.Thread(target=run_job, args=(job_id, workplace, "here"))
        thread.start()
        thread.join()
    finally:
        workplace.database.close()


@pytest.mark.slow
async def test_a_table_of_decisions_is_rated_without_a_call_and_outlives_its_upload(real, settings):
    name = await upload(real, table())
    posted = await real.post("/v1/jobs", json=body(name))
    assert posted.status_code == 202, posted.text
    work(settings, posted.json()["id"])
    job = (await real.get(f"/v1/jobs/{posted.json()['id']}")).json()
    assert job["status"] == "succeeded", job
    rating = (await real.get(f"/v1/ratings/{job['rating']['id']}")).json()
    assert (rating["letter"], rating["declared"], rating["calls"]) == ("BS", True, 0)
    assert "Person" not in json.dumps(rating)
    assert rating["aggregation"]["data"]["period"] == "2026-01..2026-06"
    assert sum(row["people"] for row in rating["components"][0]["groups"]) == 6000
    assert (await real.delete(f"/v1/uploads/{name}")).status_code == 204
    report = await real.get(f"/v1/ratings/{job['rating']['id']}/report.html")
    assert report.status_code == 200
    assert "Impact ratio" in report.text
    assert "Error rates by sex" in report.text
    address = f"/v1/ratings/{rating['id']}"
    audit = await real.get(f"{address}/ll144.csv")
    assert audit.headers["content-type"] == "text/csv; charset=utf-8"
    assert [row["Category"] for row in csv.DictReader(io.StringIO(audit.text))] == ["M", "F"]
    published = await real.post(f"{address}/visibility", json={"visibility": "public"})
    assert (published.status_code, published.json()["type"].rpartition("/")[2]) == (409, "holds-people")


@pytest.mark.parametrize("visibility", ["unlisted", "public"])
async def test_a_rating_of_recorded_decisions_cannot_be_requested_for_others_to_read(real, visibility):
    name = await upload(real, table(200))
    refused = await real.post("/v1/jobs", json=body(name) | {"visibility": visibility})
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == "/visibility"
    assert "stay private" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"by": ["gender"]}, "/experiment", "no column of the file is called 'gender'"),
        ({"favourable": "Y"}, "/experiment/favourable", "no value of hired is called 'Y'; known: no, yes"),
        ({"score": "name"}, "/experiment", "line 2, column 'name': 'Person 0' is not a number"),
        ({"by": []}, "/experiment/by", "name the columns with the groups of people"),
    ],
)
async def test_a_wrong_column_or_value_is_a_problem_that_names_what_is_there(real, changes, pointer, detail):
    name = await upload(real, table(200))
    refused = await real.post("/v1/jobs", json=body(name, **changes))
    assert refused.status_code == 422, refused.text
    (error,) = refused.json()["errors"]
    assert detail in error["detail"]
    assert error["pointer"] == pointer


async def test_a_job_about_a_table_that_is_not_there_is_refused(real):
    refused = await real.post("/v1/jobs", json=body("upl_nothing"))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/target/settings/upload"


async def test_recorded_decisions_are_rated_by_outcomes_only(real):
    name = await upload(real, table(200))
    wrong = body(name) | {"experiment": {"method": "alternation", "attribute": "gender"}}
    refused = await real.post("/v1/jobs", json=wrong)
    assert refused.status_code == 422
    assert "alternation rates a classifier or a regressor, and this target is a decision-tool" in refused.text


async def test_equal_requests_about_equal_tables_join_one_job(real):
    name = await upload(real, table(200))
    first = await real.post("/v1/jobs", json=body(name))
    second = await real.post("/v1/jobs", json=body(name))
    assert first.json()["id"] == second.json()["id"]
