"""The client as a distribution: up to date with the service, and installable without it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import httpx
import pytest
from uv import find_uv_bin

from assay_client import verify_webhook
from tools import openapi_document
from workers.webhooks.delivery_loop import signed_headers

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "python"
GENERATED = {"client.py", "documents.py", "operations.py"}
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

USER = """
from assay_client import AsyncClient, Client
from assay_client.documents import RatingRequest, RoundTrip

method: RoundTrip = {"method": "round-trip", "attribute": "gender"}
body: RatingRequest = {"target": {"id": "tgt_1"}, "experiment": method}


def letter(agency: Client) -> str | None:
    return agency.rate(body["target"], method)["letter"]


async def first_page(agency: AsyncClient) -> list[str]:
    return [one["id"] for one in (await agency.list_ratings(letter="BS"))["items"]]


reveal_type(Client("http://127.0.0.1:8000").get_job("job_1")["status"])
"""
MISTAKES = """
from assay_client import Client
from assay_client.documents import RoundTrip

method: RoundTrip = {"method": "one-hop", "attribute": "gender"}
Client("http://127.0.0.1:8000").get_rating("rat_1")["leter"]
Client("http://127.0.0.1:8000").list_ratings(letter="A")
"""


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(one) for one in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def build(source: Path, kind: str, place: Path) -> Path:
    """Build a distribution with the hatchling of this environment: no index, no isolation."""
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(place)],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = place.iterdir()
    return built


def files_of(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build a wheel from a copy of clients/python without generated modules."""
    place = tmp_path_factory.mktemp("client")
    shutil.copytree(CLIENT, place / "copy", ignore=shutil.ignore_patterns(*GENERATED, "__pycache__", ".*_cache"))
    return build(place / "copy", "wheel", place / "wheel")


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory) -> Path:
    """Return the Python of a fresh environment with the client, another package, and the httpx of this project."""
    place = tmp_path_factory.mktemp("elsewhere")
    package = place / "other" / "other_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("NAME = 'other'\n")
    project = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    (place / "other" / "pyproject.toml").write_text(f'{project}[project]\nname = "other-package"\nversion = "1"\n')
    other = build(place / "other", "wheel", place / "dist")
    made = run(sys.executable, "-m", "venv", "--without-pip", place / "venv")
    assert made.returncode == 0, made.stderr
    python = place / "venv" / "bin" / "python"
    uv = run(find_uv_bin(), "pip", "install", "--offline", "--no-deps", "--python", python, wheel, other)
    assert uv.returncode == 0, uv.stderr
    (site,) = (place / "venv" / "lib").glob("python*/site-packages")
    (site / "project.pth").write_text(f"{Path(httpx.__file__).parents[1]}\n")
    return python


@pytest.mark.slow
def test_the_openapi_document_of_the_client_equals_that_of_the_service(tmp_path):
    openapi_document.main(str(tmp_path / "openapi.json"))
    written = (CLIENT / "openapi.json").read_text("utf-8")
    assert written == (tmp_path / "openapi.json").read_text("utf-8"), "the API has changed: run `make client`"


def test_gate_py_of_the_command_line_is_a_byte_copy_of_the_clients_file_and_no_symlink():
    copy = ROOT / "cli" / "gate.py"
    assert not copy.is_symlink()
    assert copy.read_bytes() == (CLIENT / "src/assay_client/gate.py").read_bytes(), "run `make client`"


def test_the_client_depends_only_on_httpx_and_supports_the_python_versions_of_assay():
    ours, its = (tomllib.loads((place / "pyproject.toml").read_text("utf-8"))["project"] for place in (ROOT, CLIENT))
    assert [re.match(r"\w+", one)[0] for one in its["dependencies"]] == ["httpx"]
    assert set(its["dependencies"]) <= set(ours["dependencies"])
    assert its["requires-python"] == ">=3.11"
    assert ours["requires-python"].startswith(its["requires-python"])


def test_the_wheel_has_every_module_and_the_version_of_the_api(wheel):
    written = {f"assay_client/{one.name}" for one in (CLIENT / "src" / "assay_client").iterdir() if one.is_file()}
    assert files_of(wheel) == written | {f"assay_client/{name}" for name in GENERATED}
    assert "assay_client/py.typed" in written
    version = json.loads((CLIENT / "openapi.json").read_text("utf-8"))["info"]["version"]
    assert wheel.name == f"assay_client-{version}-py3-none-any.whl"


def test_the_source_distribution_builds_the_same_wheel(wheel, tmp_path):
    packed = build(CLIENT, "sdist", tmp_path / "sdist")
    with tarfile.open(packed) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        # Python before 3.11.4 has no extraction filters; the archive is our own, so none is needed
        archive.extractall(tmp_path / "unpacked", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    assert {"openapi.json", "build_operations.py", "README.md", "LICENSE"} <= names
    assert not {f"src/assay_client/{name}" for name in GENERATED} & names
    (source,) = (tmp_path / "unpacked").iterdir()
    again = zipfile.ZipFile(build(source, "wheel", tmp_path / "again"))
    assert {name: again.read(name) for name in files_of(wheel)} == {
        name: zipfile.ZipFile(wheel).read(name) for name in files_of(wheel)
    }


def test_the_client_is_importable_without_the_agency_and_next_to_other_packages(elsewhere):
    code = (
        "import sys, assay_client, other_package; from assay_client import AsyncClient, Client; "
        "print(assay_client.__file__, other_package.NAME, Client.get_job.__name__); "
        "print(sorted({'assay', 'store', 'service', 'workers', 'cli', 'numpy', 'hatchling'} & set(sys.modules)))"
    )
    done = run(elsewhere, "-c", code)
    assert done.returncode == 0, done.stderr
    first, ours = done.stdout.splitlines()
    assert first.startswith(str(elsewhere.parents[1]))
    assert first.endswith("other get_job")
    assert ours == "[]"
    assert run(elsewhere, "-m", "assay_client", "gate", "--url", "x").returncode == 64


@pytest.mark.slow
def test_types_of_the_installed_client_satisfy_mypy_strict(elsewhere, tmp_path):
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "mistakes.py").write_text(MISTAKES)

    def mypy(name: str) -> str:
        options = ["--strict", "--config-file=", "--python-executable", elsewhere, "--cache-dir", tmp_path / "cache"]
        return run(sys.executable, "-m", "mypy", *options, tmp_path / name).stdout

    shown = mypy("user.py")
    assert "Success: no issues found in 1 source file" in shown
    assert (
        """'queued'] | Literal['running'] | Literal['succeeded'] | Literal['failed'] | Literal['cancelled']""" in shown
    )
    assert re.findall(r"mistakes\.py:(\d+): error", mypy("mistakes.py")) == ["5", "6", "7"]


@pytest.mark.slow
def test_the_wheel_of_assay_contains_the_gate_but_not_the_client(tmp_path):
    wheel = build(ROOT, "wheel", tmp_path / "wheel")
    assert zipfile.ZipFile(wheel).read("cli/gate.py") == (CLIENT / "src/assay_client/gate.py").read_bytes()
    assert not [name for name in files_of(wheel) if name.startswith(("assay_client", "clients"))]


def test_the_client_accepts_webhooks_that_the_agency_signed():
    body = b'{"type":"ping","timestamp":"2026-01-02T03:04:05Z","data":{}}'
    headers = signed_headers("dlv_1", 1_767_323_045, body, (SECRET,), lambda message: b"s" * 64)
    assert verify_webhook(headers, body, SECRET, now_s=1_767_323_045) == json.loads(body)
