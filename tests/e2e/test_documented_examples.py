"""Every example in `docs/api.md` works when its blocks are run in order.

The blocks of one language form one program, because later blocks use results of earlier blocks. Each language
has its own agency, and the addresses of the page are replaced by those of this test.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
RUN = {"sh", "python", "js"}
SHOWN = {"http", "json", ""}
FILES = {"sh": "examples.sh", "python": "examples.py", "js": "examples.mjs"}
NODE = 20

# makes a refused request end the script; curl alone would continue
STRICT = 'set -euo pipefail\ncurl() { command curl --no-progress-meter --fail-with-body "$@"; }\n'


def blocks(page: str) -> list[tuple[str, str]]:
    """Fenced blocks: language and text."""
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(language: str) -> str:
    return "\n".join(text for name, text in blocks(PAGE.read_text("utf-8")) if name == language)


def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < NODE:
        pytest.skip(f"node is {version.strip()}; the examples need {NODE}")
    return found


def runner(language: str) -> list[str]:
    return {"sh": lambda: ["bash"], "python": lambda: [sys.executable], "js": lambda: [node()]}[language]()


@pytest.fixture
def run(serve, services, tmp_path):
    """Run a program against a new agency; return its output and its directory."""

    def go(language: str, text: str) -> tuple[str, Path]:
        start = runner(language)
        place = tmp_path / "work"
        place.mkdir()
        for written, real in (
            ("http://127.0.0.1:8000", f"http://127.0.0.1:{serve().port}"),
            ("http://127.0.0.1:5000", services.base),
        ):
            text = text.replace(written, real)
        text = re.sub(r"\b9000\b", str(free_port()), text)
        file = place / FILES[language]
        file.write_text((STRICT if language == "sh" else "") + text, encoding="utf-8")
        ended = subprocess.run(
            [*start, file.name],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        assert ended.returncode == 0, f"{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
        return ended.stdout, place

    return go


def test_every_code_block_of_the_api_page_is_in_a_language_that_is_run_or_shown_as_output():
    names = {name for name, _ in blocks(PAGE.read_text("utf-8"))}
    assert names <= RUN | SHOWN
    assert names >= RUN


def test_every_example_is_shown_in_shell_python_and_javascript():
    flows = PAGE.read_text("utf-8").partition("## A first rating")[2].partition("## Gate a deployment")[0]
    for flow in flows.split("\n## "):
        assert {name for name, _ in blocks(flow)} >= RUN, flow.splitlines()[0]


def test_the_shell_examples_of_the_api_page_work_in_order(run):
    printed, place = run("sh", program("sh"))
    assert '"letter":"DSBS"' in printed
    assert "is as it was sealed" in printed
    assert "at least DSBS, as required" in printed
    assert (place / "badge.svg").read_text().startswith("<svg")
    assert "x-bias-rating" in (place / "overlay.yaml").read_text()


def test_the_python_examples_of_the_api_page_work_in_order(run):
    printed, place = run("python", program("python"))
    assert printed.startswith("DSBS True")
    assert "round-trip {'es': 'BS', 'fr': 'BS'}" in printed
    assert "told of ping" in printed
    assert "is as it was sealed" in printed
    assert printed.rstrip().splitlines()[-1].startswith("succeeded")
    assert (place / "badge.svg").read_text().startswith("<svg")


def test_the_javascript_examples_of_the_api_page_work_in_order(run):
    printed, place = run("js", program("js"))
    assert printed.startswith("DSBS true")
    assert "told of ping" in printed
    assert printed.rstrip().splitlines()[-1].startswith("urn:assay:predicate:rating:")
    assert (place / "badge.svg").read_text().startswith("<svg")
