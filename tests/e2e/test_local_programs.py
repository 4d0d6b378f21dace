"""`assay rate` on a function and on a program; an agency refuses both."""

from __future__ import annotations

import json
import os
import shlex
import sys

import httpx

from tests.support import local_models
from tests.support.commands import run_command

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
FUNCTION = "tests.support.local_models:faithful"


def test_rating_a_local_function_gives_the_expected_letter():
    done = run_command("rate", "--python", FUNCTION, "--json", environment=ENVIRONMENT)
    assert done.returncode == 1, done.stderr
    rating = json.loads(done.stdout)
    assert rating["letter"] == "DSBS"
    assert rating["target"]["protocol"] == "local-program"
    assert rating["target"]["settings"]["python"] == FUNCTION


def test_rating_a_program_that_translates_nothing_exits_with_3_and_reports_no_letter():
    command = shlex.join([sys.executable, local_models.__file__])
    done = run_command("rate", "--command", command, environment=ENVIRONMENT)  # only changes texts to capitals
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no letter can be given" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_api_refuses_a_local_program_as_an_unknown_protocol(shared_agency):
    target = {"name": "t", "kind": "translator", "protocol": "local-program", "settings": {"command": "id"}}
    for path, body in (
        ("/v1/targets", target),
        ("/v1/jobs", {"target": target, "experiment": {"method": "round-trip", "attribute": "gender"}}),
    ):
        answer = httpx.post(f"http://127.0.0.1:{shared_agency.port}{path}", json=body, timeout=30)
        assert answer.status_code == 422, answer.text
        assert "protocol" in answer.json()["errors"][0]["pointer"]
