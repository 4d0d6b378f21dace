"""The programs of `docs/experiment-tracking.md` log a rating to MLflow and to Weights & Biases, without the network."""

from __future__ import annotations

import json

import pytest

from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "experiment-tracking.md"
PYTHON = ROOT / ".venv-recipes" / "bin" / "python"
CLIENT = ROOT / "clients" / "python" / "src"

GUARD = """
import sys

def refuse(event, arguments):
    address = arguments[1] if event == "socket.connect" else arguments[0] if event == "socket.getaddrinfo" else None
    host = address[0] if isinstance(address, tuple) else address
    if isinstance(host, str) and not host.startswith(("127.", "localhost", "/", "::1")):
        with open("left_this_machine.txt", "a") as log:
            log.write(f"{event} {arguments}\\n")
        raise OSError(f"the network is used: {arguments}")

sys.addaudithook(refuse)
"""

READ_MLFLOW = """
import json, os
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
client = mlflow.MlflowClient()
(run,) = client.search_runs([client.get_experiment_by_name("translators").experiment_id])
report = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/report.html")
tags = {name: text for name, text in run.data.tags.items() if name.startswith("bias.")}
print(json.dumps({"tags": tags, "metrics": run.data.metrics, "report": report}))
"""

READ_WANDB = """
import glob, json, struct
from wandb.proto import wandb_internal_pb2

def records(data):
    position, begun = 7, b""  # after the file's header: a log of LevelDB, in blocks of 32 KiB
    while position < len(data):
        if (left := 32768 - position % 32768) < 7:
            position += left
            continue
        size, kind = struct.unpack_from("<HB", data, position + 4)
        begun += data[position + 7 : position + 7 + size]
        position += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield begun
            begun = b""

(file,) = glob.glob("wandb/offline-run-*/*.wandb")
summary = {}
for content in records(open(file, "rb").read()):
    record = wandb_internal_pb2.Record()
    record.ParseFromString(content)
    for update in record.summary.update:
        summary[update.key or "/".join(update.nested_key)] = json.loads(update.value_json)
(report,) = glob.glob("wandb/offline-run-*/files/media/html/*.html")
print(json.dumps({"summary": summary, "report": open(report, encoding="utf-8").read()}))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="`make recipes` installs the tracking packages"),
]


@pytest.fixture(scope="module")
def agency(agencies):
    return agencies()


@pytest.fixture
def run(tmp_path):
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")

    def run_text(text: str) -> str:
        (tmp_path / "recipe.py").write_text(text, encoding="utf-8")
        paths = f"{tmp_path / 'guard'}:{CLIENT}"
        done = run_program([str(PYTHON), "recipe.py"], tmp_path, PYTHONPATH=paths, HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr[-3000:]
        assert not (tmp_path / "left_this_machine.txt").exists()
        return done.stdout

    return run_text


def recipe(module: str, agency, services) -> str:
    (block,) = [block.text for block in blocks(PAGE) if f"import {module}\n" in block.text]
    return block.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{agency.port}").replace(
        "http://127.0.0.1:5000", services.base
    )


def newest_rating(agency) -> dict:
    summary, *_ = agency.agency.get("/v1/ratings?limit=1")["items"]
    return agency.agency.get(f"/v1/ratings/{summary['id']}")


def test_the_recipe_for_mlflow_logs_the_letter_the_reason_the_probabilities_and_the_report(run, agency, services):
    run(recipe("mlflow", agency, services))
    rating, logged = newest_rating(agency), json.loads(run(READ_MLFLOW).splitlines()[-1])
    assert logged["tags"] == {
        "bias.letter": "BS",
        "bias.declared": "True",
        "bias.rating": rating["id"],
        "bias.because": rating["because"]["sentence"],
    }
    assert logged["metrics"] == {
        f"bias.probability.{letter}": share for letter, share in rating["probabilities"].items()
    }
    assert rating["id"] in logged["report"]


def test_the_recipe_for_wandb_logs_the_letter_the_reason_the_probabilities_and_the_report(run, agency, services):
    run(recipe("wandb", agency, services))
    rating, logged = newest_rating(agency), json.loads(run(READ_WANDB).splitlines()[-1])
    expected = {
        "bias.letter": "BS",
        "bias.declared": True,
        "bias.rating": rating["id"],
        "bias.because": rating["because"]["sentence"],
        **{f"bias.probability.{letter}": share for letter, share in rating["probabilities"].items()},
    }
    assert expected.items() <= logged["summary"].items()
    assert rating["id"] in logged["report"]
