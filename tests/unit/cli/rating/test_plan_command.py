"""`assay plan` counts the questions of a rating without sending any."""

import json
import os
import re

import pytest
from typer.testing import CliRunner

from assay.rating.plan import Chance, Effort, Plan, Service
from cli.main import app
from cli.rating.plan import _plan_lines
from demo.server import DemoServer
from store.ratings.experiment_json import parse_method
from tests.support.commands import run_command
from tests.support.json_server import json_server

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
SERVICE = ("--protocol", "libretranslate", "--url", "http://127.0.0.1:9", "--language", "es")


def assay(*arguments: str):
    return run_command(*arguments, environment=CLEAN)


@pytest.mark.slow
def test_the_planned_questions_are_those_of_a_rating_decided_at_the_first_interim_analysis():
    with DemoServer() as services:
        given = (
            "--protocol",
            "libretranslate",
            "--url",
            services.url("faithful"),
            "--language",
            "es",
            "--language",
            "fr",
        )
        plan = json.loads(assay("plan", *given, "--json").stdout)
        rating = json.loads(assay("rate", *given, "--json").stdout)
    assert rating["declared"]
    assert plan["questions"] == parse_method(rating["experiment"]).expected_probes() == rating["calls"] == 240


def test_calls_seconds_and_cost_follow_from_batches_latency_and_prices():
    given = (
        "--seed",
        "0",
        "--latency",
        "0.5",
        "--price-per-call",
        "0.01",
        "--set",
        "target.limits.concurrency=4",
        "--json",
    )
    plan = json.loads(assay("plan", *SERVICE, *given).stdout)
    assert plan["questions_per_call"] == 6  # 24 questions at a time, in four calls
    assert (plan["questions"], plan["calls"], plan["seconds"], plan["cost"]) == (120, 22, 3.0, pytest.approx(0.22))
    assert plan["at_most"]["questions"] > plan["questions"]
    assert len(plan["first_questions"]) == 5


def test_stop_early_and_max_calls_bound_the_worst_case():
    one_look = json.loads(assay("plan", *SERVICE, "--set", "stop_early=false", "--json").stdout)
    assert one_look["at_most"]["questions"] == one_look["questions"]
    bounded = json.loads(assay("plan", *SERVICE, "--max-calls", "7", "--json").stdout)
    assert bounded["at_most"]["calls"] == 7


def test_the_text_of_a_plan_shows_best_and_worst_case_and_asks_for_the_latency():
    shown = assay("plan", *SERVICE)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^clear at once +120 +\d+ +- +-$", shown.stdout, re.MULTILINE)
    assert re.search(r"^never clear +[\d,]+ +\d+ +- +-$", shown.stdout, re.MULTILINE)
    assert "--latency" in shown.stdout
    assert "first   en to es: " in shown.stdout


def test_a_dry_run_sends_nothing_and_refuses_the_same_requests_as_a_rating(tmp_path):
    received: list = []
    with json_server(lambda asked: {}, received) as url:
        done = assay("rate", "--protocol", "libretranslate", "--url", url, "--dry-run")
    assert (done.returncode, received) == (0, [])
    assert "nothing was sent" in done.stdout
    refused = assay("rate", *SERVICE, "--dry-run", "--report", str(tmp_path / "none" / "report.html"))
    assert refused.returncode == 64
    assert "does not exist" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classifier", "regressor", "embedder", "language-model"])
def test_a_plan_is_made_for_every_kind_of_service(kind):
    settings = ("--setting", 'body={q = "{text}"}')
    done = assay("plan", "--kind", kind, "--protocol", "custom", "--url", "http://127.0.0.1:9", *settings, "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["at_most"]["questions"] >= plan["questions"] > 0


def test_the_chance_of_a_letter_is_never_printed_as_certain():
    effort = Effort(1, 1, None, None)
    plan = Plan(effort, effort, (Chance(0.0, 0.0, 1.0), Chance(1.0, 0.1, 0.001)), None)
    assert any("true effect: >99 % at 0, <1 % at 0.1." in line for line in _plan_lines("", plan, Service(), []))


def test_a_rating_of_uploaded_vectors_is_planned(tmp_path):
    file = tmp_path / "words.vec"
    file.write_text("2 2\nshe 1 2\nhe 2 1\n")
    done = CliRunner().invoke(app, ["plan", "--kind", "embedder", "--protocol", "uploaded", "--upload", str(file)])
    assert done.exit_code == 0, done.exception
    assert "nothing was sent" in done.output
