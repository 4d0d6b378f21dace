"""The package in docs/extending.md can be written to files, installed and used unchanged."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay.explain import LETTERS
from assay.model import Letter
from tests.support.json_server import json_server

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REQUEST = re.compile(r"with `rating.toml`:\n\n```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BRITISH = ("our", "tre", "bre")


class Classifier(http.server.BaseHTTPRequestHandler):
    """Classifier that answers `label score` lines; a score depends on content and, weighted by `lean`, on spelling."""

    lean = 0.0
    follows = True

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        score = 0.5 + (0.2 if "love" in text else -0.2) * self.follows
        score += self.lean * any(end in text for end in BRITISH)
        body = f"positive {score}\nnegative {1 - score}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    return install(tmp_path_factory, FILE.findall((ROOT / "docs/extending.md").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def without_a_report(tmp_path_factory) -> Path:
    """Install the package of the page without the report of its method."""
    files = dict(FILE.findall((ROOT / "docs/extending.md").read_text(encoding="utf-8")))
    del files["assay_spelling/shown.py"]
    entry = '[project.entry-points."assay.method_reports"]\nspelling = "assay_spelling.shown:REPORT"\n'
    assert entry in files["pyproject.toml"]
    files["pyproject.toml"] = files["pyproject.toml"].replace(entry, "")
    return install(tmp_path_factory, list(files.items()))


def install(tmp_path_factory, files: list[tuple[str, str]]) -> Path:
    written, place = tmp_path_factory.mktemp("assay-spelling"), tmp_path_factory.mktemp("site")
    assert len(files) in {8, 9}
    for name, text in files:
        (written / name).parent.mkdir(exist_ok=True)
        (written / name).write_text(text, encoding="utf-8")
    uv = Path(sys.executable).with_name("uv")
    subprocess.run(
        [
            *(uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation"),
            *("--python", sys.executable, "--target", place, written),
        ],
        check=True,
        env={**os.environ, "UV_CACHE_DIR": str(place.with_name("uv-cache"))},
    )
    return place


def assay(installed: Path, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [Path(sys.executable).with_name("assay"), *arguments],
        env={**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "200"},
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def rate(installed: Path, folder: Path, *options: str, lean: float, follows: bool) -> subprocess.CompletedProcess:
    """Rate a classifier with the request on the page."""
    handler = type("Handler", (Classifier,), {"lean": lean, "follows": follows})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    request = REQUEST.search((ROOT / "docs/extending.md").read_text(encoding="utf-8"))[1]
    (folder / "rating.toml").write_text(request)
    try:
        rated = assay(
            installed,
            *("rate", "rating.toml", "--protocol", "plain-text", "--kind", "classifier"),
            *("--url", f"http://127.0.0.1:{server.server_port}", "--name", "speller", *options),
            folder=folder,
        )
    finally:
        server.shutdown()
        server.server_close()
    assert rated.stdout, rated.stderr
    return rated


@pytest.mark.parametrize(
    ("listing", "name"), [("methods", "spelling"), ("protocols", "plain-text"), ("specifications", "weekdays")]
)
def test_methods_protocols_and_specifications_of_a_plug_in_are_listed(installed, listing, name):
    listed = assay(installed, listing)
    assert listed.returncode == 0, listed.stderr
    assert name in listed.stdout
    without = subprocess.run(
        [Path(sys.executable).with_name("assay"), listing], check=False, capture_output=True, text=True, timeout=60
    )
    assert name not in without.stdout


@pytest.mark.parametrize(
    ("lean", "follows", "letter", "code"),
    [
        (0.25, True, "BS", "spelling-matters"),
        (0.0, True, "DSBS", "spelling-follows"),
        (0.0, False, "UCS", "spelling-ignored"),
    ],
)
def test_a_service_is_rated_with_the_method_and_the_protocol_of_the_plug_in(
    installed, tmp_path, lean, follows, letter, code
):
    rated = rate(installed, tmp_path, "--json", "--report", "rating.line", lean=lean, follows=follows)
    rating = json.loads(rated.stdout)
    assert (rating["letter"], rating["declared"]) == (letter, True)
    assert rating["components"][0]["reasons"][0]["code"] == code
    assert rating["components"][0]["reasons"][0]["text"]
    assert (tmp_path / "rating.line").read_text() == f"speller: {letter}\n"


def test_a_report_contains_the_tables_the_figure_and_the_sentences_of_the_plug_in_method(installed, tmp_path):
    printed = rate(installed, tmp_path, "--full", "--report", "rating.html", lean=0.25, follows=True).stdout
    page = (tmp_path / "rating.html").read_text(encoding="utf-8")
    for written in (printed, page):
        told = " ".join(written.split())
        assert "Score of the British spelling less that of the American" in told
        assert "colour" in told
        assert "harbor" in told
        assert "The same sentence gets another score in British spelling" in told
        assert "The classifier prefers one spelling of the very same sentence." in told
        assert "The other spelling moves a score by 25 points of 100 on average." in told
    assert "<figcaption>What the spelling changes</figcaption>" in page
    assert "Step 1: the other spelling" in page
    assert "Step 2: one spelling that praises" in page


def test_a_plug_in_method_without_its_own_report_gets_the_common_parts_of_a_report(without_a_report, tmp_path):
    options = ("--full", "--report", "rating.html")
    printed = rate(without_a_report, tmp_path, *options, lean=0.25, follows=True).stdout
    page = (tmp_path / "rating.html").read_text(encoding="utf-8")
    for written in (printed, page):
        told = " ".join(written.split())
        assert "BS — biased" in told
        assert LETTERS[Letter.BS].meaning in told
        assert "The same sentence gets another score in British spelling: a difference of 0.25." in told
        assert re.search(
            r"The effect of step 1 \(balanced input\) is an estimated 0\.2\d*, and up to 0\.1 counts", told
        )
        assert "Tested for spelling: spelling." in told
        assert "Effects" in told
        assert "Score of the British spelling less that of the American" not in told
    assert "Step 1: balanced input" in page
    assert "<figcaption>What the spelling changes</figcaption>" not in page


def test_the_word_list_of_a_plug_in_is_found_by_name(installed):
    program = (
        "from assay.methods import ForcedChoice\n"
        "method = ForcedChoice(specification='weekdays', attribute='work')\n"
        "print(method.attribute, method.words.concept_words[0])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(installed)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout == "work monday\n", ran.stderr


def test_the_api_documents_the_plug_in_method_and_validates_its_fields(installed):
    program = (
        "import json\n"
        "from store.ratings.experiment_json import method_schema, parse_method\n"
        "from assay.errors import SpecificationError\n"
        "print(json.dumps(method_schema('spelling')['required']))\n"
        "try:\n    parse_method({'method': 'spelling', 'label': 'x', 'delta': 7})\n"
        "except SpecificationError as error:\n    print(error.field)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(installed)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.splitlines() == ['["method", "label"]', "delta"], ran.stderr


def writes(asked: dict) -> dict:
    """Answer a chat request with a sentence that contains the requested word."""
    word = re.search(r"with the word (\w+)", asked["messages"][-1]["content"])[1]
    return {"choices": [{"message": {"content": f"There is a {word} at the end of the road."}}]}


@pytest.fixture
def speller():
    handler = type("Handler", (Classifier,), {"lean": 0.0})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield {"name": "speller", "kind": "classifier", "protocol": "plain-text", "base_url": url}
    server.shutdown()
    server.server_close()


def test_a_job_of_the_plug_in_method_sends_the_sentences_of_its_corpus(installed, serve, speller):
    agency = serve(PYTHONPATH=str(installed))
    corpus = agency.agency.post("/v1/corpora", {"name": "Rooms", "kind": "sentences", "attribute": "spelling"})["id"]
    kept = ["I love the colour of this room.", "The theatre is closed."]
    agency.agency.post(f"/v1/corpora/{corpus}/items", {"items": [{"text": text} for text in kept]})
    experiment = {"method": "spelling", "label": "positive", "corpus": corpus}
    with pytest.raises(ValueError, match="no corpus that you may read"):
        agency.agency.post("/v1/jobs", {"target": speller, "experiment": experiment | {"corpus": "crp_nowhere"}})

    asked = agency.agency.post("/v1/jobs", {"target": speller, "experiment": experiment})
    assert asked["experiment"]["sentences"] == kept
    assert asked["experiment"]["corpus"] == f"{corpus}@2"
    job = agency.finished(asked["id"])
    assert job["status"] == "succeeded", job
    texts = questions(agency, job, "classify")
    assert {"I love the color of this room.", "The theatre is closed.", "The theater is closed."} <= texts
    assert agency.agency.get(job["rating"]["href"])["letter"] == "DSBS"


def test_a_method_from_a_plug_in_stores_sentences_written_by_a_language_model_and_reuses_them(
    installed, serve, speller
):
    agency = serve(PYTHONPATH=str(installed))
    experiment = {"method": "spelling", "label": "positive", "write": 1}
    with pytest.raises(ValueError, match="name the service that generates it"):
        agency.agency.post("/v1/jobs", {"target": speller, "experiment": experiment})

    with json_server(writes) as url:
        author = {"name": "Writer", "kind": "language-model", "protocol": "openai-chat", "base_url": url}
        author["settings"] = {"model": "writer"}
        request = {"target": speller, "author": author, "experiment": experiment}
        first, second = (
            agency.finished(agency.agency.post("/v1/jobs", request | {"seed": seed})["id"]) for seed in (1, 2)
        )
    assert (first["status"], second["status"]) == ("succeeded", "succeeded"), (first, second)
    assert len(questions(agency, first, "write")) == 10
    (corpus,) = agency.agency.get("/v1/corpora?kind=sentences")["items"]
    assert (corpus["name"], corpus["items"]) == ("spelling, written for a rating", 10)
    assert "There is a colour at the end of the road." in second["experiment"]["sentences"]
    assert len(second["experiment"]["sentences"]) == 10
    assert questions(agency, second, "write") == set()
    assert agency.agency.get(second["rating"]["href"])["author"] is None


def questions(agency, job: dict, kind: str) -> set[str]:
    asked = [one["ask"] for one in agency.agency.get(f"{job['links']['observations']}?limit=200")["items"]]
    return {str(ask.get("prompt") or ask.get("given") or ask) for ask in asked if ask["asks"] == kind}
