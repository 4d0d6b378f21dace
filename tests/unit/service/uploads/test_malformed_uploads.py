"""Malformed spreadsheets are refused when they arrive, or by the job that names their columns, and never with a 5xx."""

import pytest

from service.app import create_app
from tests.support.malformed_spreadsheets import CASES
from tests.unit.service.conftest import client_of
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

EXPERIMENT = {"method": "outcomes", "by": ["sex"], "decision": "hired", "favourable": "yes"}


@pytest.fixture
async def agency(settings, rings):
    app = create_app(settings, validator=TargetChecker(settings), doorbell=rings)
    async with app.router.lifespan_context(app), client_of(app) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize(("media_type", "build", "line"), CASES)
async def test_a_malformed_spreadsheet_is_a_4xx_problem_that_says_in_one_line_what_is_wrong(
    agency, media_type, build, line
):
    parameters = {"purpose": "table", "name": "people"}
    answer = await agency.post("/v1/uploads", params=parameters, content=build(), headers={"Content-Type": media_type})
    if answer.status_code == 201:  # a table, though not one of these columns and numbers
        settings = {"upload": answer.json()["id"]}
        target = {"name": "Hirer", "kind": "decision-tool", "protocol": "uploaded", "settings": settings}
        experiment = EXPERIMENT | {"score": "score", "weight": "weight"}
        answer = await agency.post("/v1/jobs", json={"target": target, "experiment": experiment})
        assert line in answer.json()["errors"][0]["detail"]
    assert answer.status_code in {400, 413, 415, 422}, answer.text
    problem = answer.json()
    assert len(problem["detail"].splitlines()) == 1
