"""Every code block of the documentation is run, parsed, or marked with the reason why it cannot be.

Shell and Python blocks of a page are one program each, run against an agency and known services on this machine;
the addresses of the page are replaced by theirs. Pages that another test covers are listed with that test.
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import ipaddress
import json
import re
import socket
import sys
import threading
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from store.ratings.experiment_json import parse_method
from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT, Block, blocks, pages
from workers.targets.registry import check_target

OWN_TESTS = {
    "docs/api.md": "tests/e2e/test_documented_examples.py",
    "docs/benchmark-of-the-month.md": "tests/e2e/test_benchmark_of_the_month.py",
    "docs/corpora.md": "tests/e2e/test_corpora_page.py",
    "docs/examples.md": "tests/e2e/test_examples.py",
    "docs/experiment-tracking.md": "tests/e2e/test_experiment_tracking.py",
    "docs/extending.md": "tests/e2e/test_extending.py",
    "docs/install.md": "tests/e2e/test_installation.py",
    "docs/describe-your-service.md": "tests/e2e/test_first_letter.py",
    "docs/continuous-integration.md": "tests/e2e/test_continuous_integration.py",
    **{f"docs/tutorials/{path.name}": "tests/e2e/test_tutorials.py" for path in (ROOT / "docs/tutorials").glob("*.md")},
}
"""Pages whose blocks another test runs."""

SHELL, PARSED, OUTPUT = {"sh", "bash"}, {"json", "toml", "yaml"}, {"text", "http"}
EMBEDDED = {"html", "markdown"}
MOST_NOT_RUN = 10
FIRST = {"refusing-ratings.md": "replies.md"}
"""Pages, each with the page whose examples must run first: refusing ratings requires a proof of ownership."""

RATING = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}

# makes a refused request end the program; curl alone would continue
STRICT = 'set -euo pipefail\ncurl() { command curl --no-progress-meter --fail-with-body "$@"; }\n'


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


OTHERS = [page for page in pages() if name_of(page) not in OWN_TESTS and blocks(page)]
RUN = [
    page
    for page in OTHERS
    if any(block.language in SHELL | EMBEDDED | {"python"} and not block.mark for block in blocks(page))
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OwnService(http.server.BaseHTTPRequestHandler):
    """The reader's own service: a faithful translator that also serves the files of a folder."""

    translator: str
    folder: Path

    def do_GET(self) -> None:
        file = self.folder / self.path.lstrip("/")
        self._answer(200 if file.is_file() else 404, file.read_bytes() if file.is_file() else b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.endswith("/translate"):
            self._answer(200, b"")  # a receiver of webhooks
            return
        address, _, path = self.translator.removeprefix("http://").partition("/")
        with contextlib.closing(http.client.HTTPConnection(address, timeout=30)) as connection:
            connection.request("POST", f"/{path}/translate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            self._answer(answer.status, answer.read())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture(scope="module")
def agency(agencies):
    return agencies()


@pytest.fixture
def own_service(services, tmp_path) -> Iterator[int]:
    handler = type("Handler", (OwnService,), {"translator": services.url("faithful"), "folder": tmp_path})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def addresses(agency, services, own_service) -> dict[str, str]:
    """Return a mapping of the addresses on pages to the addresses of this test."""
    return {
        "http://127.0.0.1:8000": f"http://127.0.0.1:{agency.port}",
        "http://127.0.0.1:5000": services.base,
        "127.0.0.1:8080": f"127.0.0.1:{own_service}",
        "http://127.0.0.1:9000": f"http://127.0.0.1:{own_service}",
    }


@pytest.fixture
def two_ratings(agency, addresses, request):
    """Rate the reader's own service and then a service of known bias: each once in private and once in public."""
    seeds = iter(range(4))
    own = "http://" + addresses["127.0.0.1:8080"]
    known = addresses["http://127.0.0.1:5000"] + "/faithful"
    about_own_service = request.node.callspec.params["page"].name in {"replies.md", *FIRST}
    for url in (own,) if about_own_service else (own, known):
        target = {"name": "My translator", "kind": "translator", "protocol": "libretranslate", "base_url": url}
        for visibility in ("private", "public"):
            body = {"target": target, "experiment": RATING, "seed": next(seeds), "visibility": visibility}
            job = agency.agency.post("/v1/jobs", body | {"max_age_s": 0})
            assert agency.finished(job["id"])["status"] == "succeeded"


def program(page: Path, languages: set[str], addresses: dict[str, str]) -> str:
    text = "\n".join(block.text for block in blocks(page) if block.language in languages and not block.mark)
    for written, real in addresses.items():
        text = text.replace(written, real)
    return text.replace(".venv/bin/", "")


# ---------------------------------------------------------------------------- blocks that are run
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_examples_of_a_page_work_in_order(page, agency, addresses, two_ratings, tmp_path):
    before = page.with_name(FIRST[page.name]) if page.name in FIRST else None
    if before:
        (tmp_path / "before.sh").write_text(STRICT + program(before, SHELL, addresses), encoding="utf-8")
        ended = run_program(["bash", "before.sh"], tmp_path, ASSAY_DATA_DIR=str(agency.data))
        assert ended.returncode == 0, ended.stderr
    for languages, start, file in ((SHELL, ["bash"], "examples.sh"), ({"python"}, [sys.executable], "examples.py")):
        text = program(page, languages, addresses)
        if text:
            (tmp_path / file).write_text((STRICT if languages == SHELL else "") + text, encoding="utf-8")
            ended = run_program([*start, file], tmp_path, ASSAY_DATA_DIR=str(agency.data))
            assert ended.returncode == 0, f"{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    for address in re.findall(r"http://[\w.:/?=&%-]+", program(page, EMBEDDED, addresses)):
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert answer.status == 200


# ---------------------------------------------------------------------------- blocks that are parsed
def parsed_blocks() -> list[tuple[str, Block]]:
    return [(name_of(page), block) for page in OTHERS for block in blocks(page) if block.language in PARSED]


@pytest.mark.parametrize(("page", "block"), parsed_blocks(), ids=lambda one: getattr(one, "line", one))
def test_a_request_body_on_a_page_is_valid(page, block):
    read = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}[block.language](block.text)
    method = read if "method" in read else read.get("experiment")
    if method:
        parse_method(method)
    described = [read[role] for role in ("target", "judge") if role in read and set(read[role]) != {"id"}]
    for target in described:
        check_target(target, [ipaddress.ip_network("127.0.0.0/8")])


# ---------------------------------------------------------------------------- completeness
def test_every_code_block_of_the_documentation_is_in_a_language_that_is_tested_or_marked():
    wrong = [
        f"{name_of(page)}:{block.line} {block.language!r}"
        for page in OTHERS
        for block in blocks(page)
        if block.language not in SHELL | PARSED | OUTPUT | EMBEDDED | {"python"} and not block.mark
    ]
    assert not wrong


def test_few_code_blocks_of_the_documentation_are_not_run_and_each_of_them_states_a_reason():
    marked = [(name_of(page), block) for page in pages() for block in blocks(page) if block.mark]
    assert {block.mark for _, block in marked} <= {"not run", "run", "file"}
    not_run = [(page, block.line) for page, block in marked if block.mark == "not run"]
    assert len(not_run) <= MOST_NOT_RUN, not_run
    assert all(len(block.why.split()) >= 3 for _, block in marked if block.mark == "not run")


def test_each_page_whose_examples_have_a_separate_test_is_mentioned_in_that_test():
    for page, test in OWN_TESTS.items():
        written = (ROOT / test).read_text(encoding="utf-8")
        assert Path(page).name in written or Path(page).parent.name in written, test


def test_examples_of_the_documentation_call_this_machine_only():
    elsewhere = [
        f"{name_of(page)}:{block.line} {host}"
        for page in pages()
        for block in blocks(page)
        if block.language in SHELL | EMBEDDED | {"python"} and not block.mark
        for host in re.findall(r"https?://([\w.-]+)", block.text)
        if host != "127.0.0.1" and name_of(page) != "docs/extending.md"
    ]
    assert not elsewhere
