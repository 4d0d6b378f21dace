"""Repeating a rating from its service's page and in the wizard, and what agents verify of a rating without a letter."""

from __future__ import annotations

import json

import httpx
import pytest
from starlette.requests import Request

from service.app import create_app
from service.http.authentication import DEFAULT_CALLER
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.ratings.experiment_json import dump_method, parse_method
from tests.unit.service.conftest import FewProtocols, HandWorker, Rings, rating_request
from web.agents.tools import AgencyTools
from web.frame.api import Answer, accepted_answer
from web.frame.visit import Visit
from web.site import add_pages
from web.wizard.schema_form import Field, _parse_text, _text

URL = "http://assay.test"
MODEL = {"kind": "language-model", "protocol": "openai-chat", "settings": {"model": "m"}}
JUDGE = {"name": "J", "kind": "classifier", "protocol": "mlflow", "base_url": "http://127.0.0.1:5001", "settings": {}}


@pytest.fixture
def settings(tmp_path):
    settings = Settings(data_dir=tmp_path, auth="none", public_url=URL)
    migrate.upgrade(settings.resolved_database_url)
    return settings


@pytest.fixture
async def client(settings):
    app = create_app(settings, validator=FewProtocols(), doorbell=Rings())
    add_pages(app)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url=URL, headers={"origin": URL}) as opened,
    ):
        opened.form_token = Visit(
            Request({"type": "http", "headers": [], "app": app}), DEFAULT_CALLER, "", public=False
        ).form_token
        yield opened


@pytest.mark.anyio
@pytest.mark.parametrize("is_saved", [True, False])
async def test_a_judged_rating_is_repeated_with_its_saved_judge_or_else_in_the_wizard(client, settings, is_saved):
    worker = HandWorker(Database(settings.resolved_database_url))
    saved = (await client.post("/v1/targets", json=JUDGE)).json() if is_saved else {"digest": "sha256:0"}
    judge = {"id": saved["id"]} if is_saved else JUDGE
    target = {"name": "M", **MODEL, "base_url": "http://127.0.0.1:5000"}
    experiment = {"method": "free-text", "attribute": "gender"}
    request = {"target": target, "experiment": experiment, "judge": judge}
    job = (await client.post("/v1/jobs", json=request)).json()
    experiment = (await client.get(f"/v1/jobs/{job['id']}")).json()["experiment"]
    rated = {
        "method": "free-text",
        "attribute": "gender",
        "experiment": experiment,
        "judge": {**JUDGE, "digest": saved["digest"]},
    }
    target = {"name": "M", **MODEL, "url": "http://127.0.0.1:5000", "digest": "sha256:x"}
    rating_id = worker.rate(job["id"], target=target, **rated)
    form = {"form_token": client.form_token, "rating": rating_id}
    answer = await client.post(f"/services/{rating_id}/rate", data=form)
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"].startswith("/jobs/job_" if is_saved else f"/new?rating={rating_id}")


@pytest.mark.anyio
@pytest.mark.slow  # the MCP library is imported
async def test_an_agent_verifies_a_rating_whose_letter_is_not_declared(client, settings):
    job = (await client.post("/v1/jobs", json=rating_request())).json()
    rating_id = HandWorker(Database(settings.resolved_database_url)).rate(job["id"], declared=False)

    async def ask(method, path, query=None, body=None, headers=None):
        params = {name: value for name, value in (query or {}).items() if value}
        answer = await client.request(method, path, params=params, json=body, headers=headers)
        return accepted_answer(Answer(answer.status_code, answer.headers, answer.content))

    verified = json.loads(await AgencyTools(lambda _: ask).verify_rating(None, rating_id))
    assert verified["checked"][0] == "signature 1"
    assert "signature 2" not in verified["checked"] + verified["differs"]


@pytest.mark.parametrize("name", ["gender", "age", "race"])
def test_shares_of_a_rating_are_read_back_from_the_wizard_exactly(name):
    experiment = dump_method(parse_method({"method": "round-trip", "attribute": name, "languages": ["es"]}))
    field = Field("experiment.biased", "shares", "x")
    for blocks in ("unbiased", "biased"):
        assert _parse_text(field, _text("shares", experiment[blocks])) == experiment[blocks]
