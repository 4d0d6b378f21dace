"""The number of calls in a plan agrees with the calls of the job, for seven protocols."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from demo.server import DemoServer
from tests.support.agency_process import Process

TRANSLATED = {"method": "round-trip", "languages": ["es"], "stop_early": False}
STEREOTYPED = {"method": "stereotype-score", "per_term": 2, "stop_early": False}
MODEL = {"model": "demo"}
CASES = {
    "libretranslate": ("translator", "faithful", {}, TRANSLATED),
    "ollama": ("language-model", "stereotyped-model-300", MODEL, STEREOTYPED),
    "hf-inference": ("classifier", "group-sentiment", {}, {"method": "alternation"}),
    "mlflow": ("regressor", "group-sentiment", {}, {"method": "alternation"}),
    "openai-completions": ("language-model", "stereotyped-model-300", MODEL, STEREOTYPED),
    "openai-chat": ("language-model", "stereotyped-model-300", MODEL, STEREOTYPED),
    "openai-embeddings": ("embedder", "even-embedder", MODEL, {"method": "association"}),
}
"""Protocol: kind, service of the demonstration, settings, experiment."""


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("agency"))
    yield process
    process.stop()


@pytest.mark.parametrize("protocol", CASES)
def test_a_job_makes_the_planned_number_of_calls(protocol: str, agency: Process, services: DemoServer) -> None:
    kind, name, settings, experiment = CASES[protocol]
    target: dict[str, Any] = {"name": name, "kind": kind, "protocol": protocol, "base_url": services.url(name)}
    body = {"target": {**target, "settings": settings}, "experiment": {"attribute": "gender", **experiment}, "seed": 0}
    plan = agency.agency.post("/v1/jobs/plan", body)
    job = agency.finished(agency.agency.post("/v1/jobs", body)["id"])
    assert job["status"] == "succeeded", job["error"]
    assert plan["questions"] == pytest.approx(job["asked"], rel=0.1)
    assert plan["calls"] == pytest.approx(job["calls"], rel=0.1)
