"""The first five minutes with the REST API, against `assay serve` and services of known bias."""

from __future__ import annotations

import json
import os

import httpx
import pytest

from tests.support.commands import run_command

SECRET = "sk-never-shown-5a61bd"


@pytest.fixture
def client(shared_agency):
    with httpx.Client(base_url=shared_agency.agency.url, timeout=60) as client:
        yield client


@pytest.fixture
def target(services):
    return {
        "name": "My translator",
        "kind": "translator",
        "protocol": "custom",
        "base_url": services.url("faithful"),
        "secret": SECRET,
        "settings": {
            "path": "/translate",
            "body": {"q": "{text}", "source": "{source}", "target": "{target}"},
            "output": "translatedText",
            "auth": "header",
        },
    }


def test_a_test_call_shows_request_and_response_without_the_secret_and_the_parsed_answer(client, target):
    answer = client.post("/v1/targets/probe", json=target, headers={"Prefer": "wait=30"})
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    assert json.loads(result["exchange"]["request"]["body"])["q"]
    assert result["exchange"]["request"]["headers"]["authorization"] == "***"
    assert result["exchange"]["response"]["status"] == 200
    assert result["reading"]
    assert 0 < result["latency_s"] < 30
    assert result["capability"]["calls"] >= 2
    assert (result["code"], result["remedy"]) == (None, "")
    assert SECRET not in answer.text
    assert SECRET not in client.get(f"/v1/jobs/{answer.json()['id']}").text


def test_a_test_call_with_a_wrong_output_expression_names_cause_and_remedy(client, target):
    target["settings"]["output"] = "nothing.here"
    result = client.post("/v1/targets/probe", json=target, headers={"Prefer": "wait=30"}).json()["result"]
    assert result["reading"] is None
    assert "translatedText" in result["exchange"]["response"]["body"]
    assert result["cause"]
    assert "translatedText" in result["remedy"]


def test_a_rating_sends_the_planned_number_of_questions_and_lists_its_observations(client, services):
    body = {
        "target": {
            "kind": "translator",
            "name": "f",
            "protocol": "libretranslate",
            "base_url": services.url("faithful"),
        },
        "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"]},
        "seed": 0,
        "latency_s": 0.01,
    }
    planned = client.post("/v1/jobs/plan", json=body).json()
    del body["latency_s"]
    job = client.post("/v1/jobs", json=body, headers={"Prefer": "wait=30"}).json()
    while job["status"] in {"queued", "running"}:
        job = client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"}).json()
    # the rating ends after the first or the second look at the evidence
    assert job["asked"] in (planned["questions"], planned["questions"] * 3 // 2)
    assert job["asked"] <= planned["at_most"]["questions"]
    assert job["calls"] >= planned["calls"] * job["asked"] // planned["questions"]
    address = f"{job['rating']['href']}/observations"
    first = client.get(f"{address}?part=es&limit=1").json()["items"][0]
    listed = client.get(address, params={"part": "es", "q": first["ask"]["text"].upper(), "limit": 5}).json()["items"]
    assert first["unit"] in [one["unit"] for one in listed]
    shown = client.get("/v1/overview").json()
    assert job["rating"]["id"] in [one["id"] for one in shown["targets"]]


def test_a_catalog_file_of_two_services_is_planned_imported_and_ranked(client, services, tmp_path):
    catalog = tmp_path / "services.csv"
    rows = [f"{name},{services.url(name)}" for name in ("always-he", "faithful")]
    catalog.write_text("\n".join(["name,base_url", *rows]), encoding="utf-8")
    common = ("--kind", "translator", "--protocol", "libretranslate", "--agency", str(client.base_url))
    asked = (*common, "--method", "round-trip", "--attribute", "gender", "--language", "es", "--language", "fr")

    def imported(*more):
        done = run_command("import", str(catalog), *asked, *more, environment=dict(os.environ))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    plan = imported("--plan")
    assert (len(plan["cells"]), plan["questions"]) == (4, 480)
    suite = imported()
    while suite["status"] != "ended":
        suite = client.get(suite["links"]["self"], headers={"Prefer": "wait=30"}).json()
    ranked = [(one["rank"], one["target"]["name"], one["worst"]["letter"]) for one in suite["services"]]
    assert ranked == [(1, "faithful", "DSBS"), (2, "always-he", "BS")]
    cells = [cell for one in suite["services"] for row in one["rows"] for cell in row["cells"]]
    assert len(cells) == 4
    assert all(client.get(cell["href"]).json()["letter"] == cell["letter"] for cell in cells)
