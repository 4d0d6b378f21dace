"""The TypeScript client: built from the OpenAPI document, type-checked, and used against a real agency."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.markdown_blocks import ROOT

CLIENT = ROOT / "clients/typescript"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CLIENT / "node_modules").exists(), reason="npm has not installed it: make test-all does so where npm is"
    ),
]

USE = """
import { Client } from "./index.js";

const agency = new Client("http://127.0.0.1:8000", { key: "a key" });
const rating = await agency.rate({
  target: { name: "t", kind: "translator", protocol: "libretranslate", base_url: "http://127.0.0.1:5000" },
  experiment: { method: "round-trip", attribute: "gender", languages: ["es"] },
});
export const letter: "UCS" | "DSBS" | "BS" | null = rating.letter;
"""


def node(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["node", *arguments], cwd=CLIENT, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    done = subprocess.run(["npm", "run", "--silent", "build"], cwd=CLIENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def check_types(source: str) -> subprocess.CompletedProcess[str]:
    """Check the types of a module that lies beside the client's own."""
    file = CLIENT / "src/used_in_a_test.ts"
    file.write_text(source, encoding="utf-8")
    try:
        return node(CLIENT / "node_modules/typescript/bin/tsc", "--noEmit")
    finally:
        file.unlink()


def test_a_valid_request_in_typescript_passes_the_type_check():
    assert check_types(USE).returncode == 0


@pytest.mark.parametrize(
    ("right", "wrong"),
    [('"round-trip"', '"round-trips"'), ('kind: "translator", ', ""), ("rating.letter", "rating.lettre")],
)
def test_a_mistake_in_a_request_or_result_fails_the_type_check(right, wrong):
    checked = check_types(USE.replace(right, wrong))
    assert checked.returncode != 0
    assert "src/used_in_a_test.ts" in checked.stdout


@pytest.mark.parametrize(("name", "letter"), [("faithful", "DSBS"), ("always-he", "BS")])
def test_the_typescript_example_rates_a_service_and_prints_letter_and_reason(name, letter, shared_agency, services):
    ended = node("examples/rate.mjs", f"http://127.0.0.1:{shared_agency.port}", services.url(name))
    assert ended.returncode == 0, ended.stderr
    first, second = ended.stdout.splitlines()
    assert first == f"{letter} true"
    assert second.startswith(f"{letter} because of the effect")


def test_a_refused_request_and_a_failed_job_throw_errors_with_the_reason(shared_agency, services):
    agency = f"http://127.0.0.1:{shared_agency.port}"
    failed = node("examples/rate.mjs", agency, services.url("garbage"))
    assert failed.returncode != 0
    assert "JobFailed: The job job_" in failed.stderr
    refused = node("examples/rate.mjs", agency, "ftp://127.0.0.1/")
    assert refused.returncode != 0
    assert "ProblemError" in refused.stderr
    assert "base_url" in refused.stderr
