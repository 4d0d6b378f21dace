"""Processes whose clock is a day behind, and processes on a read-only file system (docs/reliability.md, row 83).

Row 83 of docs/reliability.md: at c37b512 a clock behind and a read-only file system were not tested.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from standardwebhooks import Webhook

from tests.support.commands import run_command
from tests.support.counting_target import rating_request
from tests.support.json_server import answer_challenge, json_server
from tests.support.promise_checker import check_promises
from tests.support.reference_ratings import reference_ratings, without_run
from tests.support.scaled_agency import ScaledAgency, running_agency

START_S = 240
DAY_S = 86_400

A_DAY_BEHIND = """
import datetime, time

_time, _time_ns, _real = time.time, time.time_ns, datetime.datetime
DAY_S = 86_400
time.time = lambda: _time() - DAY_S
time.time_ns = lambda: _time_ns() - DAY_S * 10**9


class Behind(_real):
    @classmethod
    def now(cls, tz=None):
        return _real.now(tz) - datetime.timedelta(seconds=DAY_S)

    @classmethod
    def utcnow(cls):
        return _real.utcnow() - datetime.timedelta(seconds=DAY_S)


datetime.datetime = Behind
"""
"""A module that the interpreter imports first: it sets the clock of the process a day behind."""

READ_ONLY = """
import errno, os, sys

_WRITABLE = tuple(filter(None, os.environ["WRITABLE"].split(os.pathsep))) + ("/dev/null", "/dev/tty", "/proc/self/")
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}


def _refuse(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if isinstance(path, int) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            return
    elif event in _CHANGES:
        path = arguments[0]
    else:
        return
    if not os.path.abspath(os.fsdecode(path)).startswith(_WRITABLE):
        raise OSError(errno.EROFS, "Read-only file system", os.fsdecode(path))


sys.addaudithook(_refuse)
"""
"""A module that the interpreter imports first: only paths that `WRITABLE` names can be written."""


def shim(folder: Path, program: str) -> str:
    """Write a module that every Python process with this `PYTHONPATH` imports first."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(program)
    return str(folder)


def from_now_s(written: str) -> float:
    return datetime.fromisoformat(written).timestamp() - datetime.now(UTC).timestamp()


def check_rated(agency: ScaledAgency, target, request: dict) -> dict:
    """Check that a job ends after one claim with the rating of an ordinary run; return its rating."""
    job_id = agency.post(request)
    (ended,) = agency.finished([job_id])
    assert ended["status"] == "succeeded", ended["error"]
    rating = agency.read(ended["rating"]["href"])
    assert without_run(rating) == reference_ratings([request])[0]
    found = check_promises(agency.database_url, all_ended=False)
    assert (found.broken, found.claims[job_id]) == ([], 1)
    return rating


# ---------------------------------------------------------------------------- a wrong clock
@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScaledAgency]:
    """An agency whose processes are a day behind; the database's clock is right."""
    path = shim(tmp_path_factory.mktemp("behind") / "first", A_DAY_BEHIND)
    with running_agency(apis=1, workers=1, settings={"PYTHONPATH": path}) as one:
        yield one


def test_processes_whose_clock_is_a_day_behind_use_the_times_of_the_database(behind, target):
    target.delay_s = 0.05
    rating = check_rated(behind, target, rating_request(target.url("behind"), 1))
    assert abs(from_now_s(rating["rated_at"])) < 3600
    assert 80 * DAY_S < from_now_s(rating["expires_at"]) < 100 * DAY_S
    with httpx.Client(base_url=behind.client().url, timeout=60) as client:
        # the server's Date header shows that its clock is wrong
        shown = parsedate_to_datetime(client.get("/livez").headers["date"])
        assert -1.1 * DAY_S < from_now_s(shown.isoformat()) < -0.9 * DAY_S
        key = {"Idempotency-Key": "a-day-behind"}
        request = rating_request(target.url("behind-again"), 2)
        first, again = (client.post("/v1/jobs", json=request, headers=key) for _ in range(2))
        assert (first.status_code, again.json()["id"]) == (202, first.json()["id"])
        made = client.post("/v1/keys", json={"name": "short", "scopes": ["ratings:read"], "expires_in_s": 3600}).json()
        assert 3000 < from_now_s(made["expires_at"]) < 4000
        bearer = {"Authorization": f"Bearer {made['key']}"}
        assert client.get("/v1/jobs", headers=bearer).status_code == 200
        with psycopg.connect(behind.database_url, autocommit=True) as connection:
            connection.execute("UPDATE api_keys SET expires_at = expires_at - 3700000")
        assert client.get("/v1/jobs", headers=bearer).status_code == 401


def test_a_webhook_from_a_process_whose_clock_is_a_day_behind_is_accepted(behind, target):
    received: list = []
    with json_server(answer_challenge, received) as url:
        hook = behind.client().post("/v1/webhooks", {"url": f"{url}/hook", "events": []})
        job_id = behind.post(rating_request(target.url("behind-told"), 3))
        behind.finished([job_id])
        until = time.monotonic() + 120
        # the job of the previous test may end while this test begins, so other notices can arrive first
        while not (mine := [one for one in received if job_id.encode() in one[2]]):
            assert time.monotonic() < until
            time.sleep(0.1)
    _, headers, body = mine[0]
    # the library refuses timestamps more than five minutes away
    told = Webhook(hook["secret"]).verify(body, {name.lower(): value for name, value in headers.items()})
    assert told["data"]["job_id"] == job_id


def test_workers_with_different_clocks_do_not_claim_each_others_jobs(behind, target, tmp_path):
    """A second worker with the right clock runs beside the worker that is a day behind."""
    target.delay_s = 0.05
    with running_agency(
        apis=0, workers=1, postgres=behind.postgres, redis=behind.redis, database=behind.database
    ) as beside:
        requests = [rating_request(target.url(f"two-clocks-{number}"), number) for number in range(6)]
        ids = [behind.post(each) for each in requests]
        ended = behind.finished(ids)
        assert {job["status"] for job in ended} == {"succeeded"}
        found = check_promises(behind.database_url, all_ended=False)
        assert found.broken == []
        assert {found.claims[job_id] for job_id in ids} == {1}
        assert len(beside.workers) == 1


# ---------------------------------------------------------------------------- a read-only file system
SPECIFICATION = "weat-6"


def words_in(document: Any) -> set[str]:
    """Return every word of every text in a JSON document, in lower case."""
    if isinstance(document, str):
        return set(re.findall(r"[a-z]+", document.lower()))
    parts = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return set().union(*map(words_in, parts))


def test_scaled_out_processes_write_nothing_but_temporary_files(target, tmp_path_factory):
    """The data directory is read-only too, so an uploaded embedding is copied into the folder of temporary files."""
    folder = tmp_path_factory.mktemp("read-only")
    temporary = folder / "tmp"
    temporary.mkdir()
    settings = {
        "PYTHONPATH": shim(folder / "first", READ_ONLY),
        "TMPDIR": str(temporary),
        "WRITABLE": str(temporary),
        "ASSAY_DATA_DIR": str(folder / "data"),
    }
    target.delay_s = 0
    with running_agency(apis=1, workers=1, settings=settings) as agency:
        check_rated(agency, target, rating_request(target.url("read-only"), 1))
        with httpx.Client(base_url=agency.client().url, timeout=60) as client:
            words = sorted(words_in(client.get(f"/v1/specifications/{SPECIFICATION}").json()))
            lines = (f"{word} {number / 7:.3f} {number % 3 + 1}" for number, word in enumerate(words))
            upload = client.post(
                "/v1/uploads?name=vectors&purpose=embedding",
                content=f"{len(words)} 2\n{chr(10).join(lines)}\n".encode(),
                headers={"Content-Type": "text/plain"},
            )
            assert upload.status_code == 201, upload.text
            of_upload = {
                "kind": "embedder",
                "protocol": "uploaded",
                "settings": {"upload": upload.json()["id"], "case": "either"},
            }
            asked = {
                "target": {"name": "vectors", **of_upload},
                "experiment": {"method": "association", "specification": SPECIFICATION, "draws": 500},
            }
            job = client.post("/v1/jobs", json=asked).json()
            (ended,) = agency.finished([job["id"]])
            assert ended["status"] == "succeeded", ended["error"]
            assert ended["failed_calls"] == 0
    assert not (folder / "data").exists()


def test_a_worker_without_a_folder_for_temporary_files_ends_with_a_message_about_tmpdir(tmp_path):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
        "PYTHONPATH": shim(tmp_path / "first", READ_ONLY),
        "WRITABLE": str(tmp_path / "out"),
        "ASSAY_BROKER_URL": "redis://127.0.0.1:1/0",
        "ASSAY_SECRET_KEY": "a key that all processes share",
    }
    done = run_command("worker", environment=environment, seconds=START_S)
    assert done.returncode == 69, done.stderr
    assert "no temporary file can be written" in done.stderr
    assert "TMPDIR" in done.stderr
    assert "Traceback" not in done.stderr
