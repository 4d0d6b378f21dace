"""An agency that starts while its disk cannot be written serves its stored data (docs/reliability.md, row 74).

Earlier faults: the embedded agency migrated and resumed jobs before it listened, so it did not start on a full disk.
SQLite could not create the files of its write-ahead log, so reading failed. A key was refused if its use could not be
recorded.

Row 74 of docs/reliability.md: at c37b512 `/readyz` was 200 with a full disk.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from store.core.child_processes import ending_with_this_process
from tests.support.commands import run_command
from tests.support.scaled_agency import SHORT

START_S = 240
FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY));"
"""Code that makes the kernel refuse every write to a file, as on a full disk. Pipes can still be written."""

OBEDIENT = (
    "import ctypes, os, sys; CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24;"
    "os.geteuid() or ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);"
    "os.execv(sys.executable, [sys.executable, '-m', 'cli.main', *sys.argv[1:]])"
)
"""Code that runs `assay` without root's right to ignore the permissions of files."""

ASSAY = "from cli.main import main; main()"


class Served:
    """`assay serve`, started by a Python program that first limits its rights; its output is read through a pipe."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "serve", "--port", "0"],
            env={**clean, "ASSAY_EGRESS_ALLOW": "127.0.0.0/8", **environment},
            stderr=subprocess.STDOUT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=ending_with_this_process(),
        )
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def url(self) -> str:
        """Wait until the agency listens; return its address."""
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            for line in list(self.said):
                if "Assay listens on " in line:
                    return line.partition("Assay listens on ")[2].split()[0]
            time.sleep(0.05)
        raise AssertionError("".join(self.said))

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._reader.join(10)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(self.process.stdout)


@pytest.fixture
def served() -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(program: str, **environment: str) -> Served:
        started.append(Served(program, environment))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def rating_request(url: str, seed: int) -> dict:
    return {
        "target": {"name": "a service", "kind": "translator", "protocol": "libretranslate", "base_url": url},
        "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"], "texts_per_block": 20},
        "seed": seed,
    }


@pytest.fixture
def rated(serve, services) -> tuple[Path, str, str]:
    """An agency that was stopped after a rating: its data directory, the rating's path and a service's address."""
    one = serve()
    url = services.url("faithful")
    job = one.agency.post("/v1/jobs", rating_request(url, 5))
    rating = one.finished(job["id"])["rating"]["href"]
    one.stop()
    return one.data, rating, url


def check_reads_only(url: str, rating: str, target: str, **more: str) -> None:
    """Check that the agency serves reads, is not ready, and refuses new jobs."""
    with httpx.Client(base_url=url, timeout=60, headers=more) as client:
        assert client.get("/livez").status_code == 200
        assert client.get(rating).json()["letter"] == "DSBS"
        assert client.get("/v1/jobs").json()["items"]
        assert client.get("/readyz").status_code == 503
        refused = client.post("/v1/jobs", json=rating_request(target, 6))
        assert (refused.status_code, refused.json()["code"]) == (503, "store-unavailable"), refused.text
        assert int(refused.headers["retry-after"]) > 0


def ready(url: str) -> bool:
    until = time.monotonic() + 60
    while (status := httpx.get(f"{url}/readyz", timeout=30).status_code) != 200 and time.monotonic() < until:
        time.sleep(0.2)
    return status == 200


def test_the_embedded_agency_starts_on_a_full_disk_and_accepts_jobs_when_space_is_free_again(rated, served):
    data, rating, target = rated
    assert not list(data.glob("assay.db-*")), "SQLite removed its log, and must read without making it anew"
    one = served(FULL_DISK + ASSAY, ASSAY_DATA_DIR=str(data))
    check_reads_only(one.url(), rating, target)
    assert "The database cannot be written" in "".join(one.said)
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert ready(one.url())
    with httpx.Client(base_url=one.url(), timeout=60) as client:
        job = client.post("/v1/jobs", json=rating_request(target, 6)).json()
        until = time.monotonic() + 120
        while client.get(f"/v1/jobs/{job['id']}").json()["status"] != "succeeded":
            assert time.monotonic() < until
            time.sleep(0.2)
        assert len(client.get("/v1/jobs").json()["items"]) == 2, "what was written since is read"


def test_the_embedded_agency_resumes_a_job_that_was_interrupted_before_a_full_disk(serve, served, services):
    one = serve(ASSAY_LEASE_S="2", ASSAY_HEARTBEAT_S="0.5")
    job = one.agency.post("/v1/jobs", rating_request(services.url("slow"), 5))
    until = time.monotonic() + 120
    while one.agency.get(f"/v1/jobs/{job['id']}")["asked"] < 5 and time.monotonic() < until:
        time.sleep(0.1)
    one.kill()
    # simulates a clean end, because SQLite needs 32 kB of space to read the log of a killed process
    sqlite3.connect(one.data / "assay.db").execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    again = served(FULL_DISK + ASSAY, ASSAY_DATA_DIR=str(one.data), ASSAY_LEASE_S="2", ASSAY_HEARTBEAT_S="0.5")
    with httpx.Client(base_url=again.url(), timeout=60) as client:
        assert client.get(f"/v1/jobs/{job['id']}").json()["status"] == "running"
        resource.prlimit(again.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        until = time.monotonic() + 300
        while (seen := client.get(f"/v1/jobs/{job['id']}").json())["status"] == "running":
            assert time.monotonic() < until
            time.sleep(0.2)
    assert (seen["status"], seen["attempt"]) == ("succeeded", 2)


def test_the_embedded_agency_starts_in_a_read_only_directory(rated, served):
    data, rating, target = rated
    for path in (data, *data.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        one = served(OBEDIENT, ASSAY_DATA_DIR=str(data))
        check_reads_only(one.url(), rating, target)
    finally:
        data.chmod(0o755)


def test_a_database_without_a_schema_on_a_full_disk_is_refused_without_a_traceback(rated, served):
    data, _, _ = rated
    with sqlite3.connect(data / "assay.db") as connection:
        connection.execute("DELETE FROM alembic_version")
    connection.close()
    one = served(FULL_DISK + ASSAY, ASSAY_DATA_DIR=str(data))
    assert one.process.wait(START_S) == 69
    one.stop()
    assert "is at schema none" in "".join(one.said)
    assert "cannot be migrated, because nothing can be written" in "".join(one.said)
    assert "Traceback" not in "".join(one.said)


def test_an_api_process_starts_on_a_read_only_postgres(serve, services, served, postgres_url, redis_url):
    environment = {
        **SHORT,
        "ASSAY_DATABASE_URL": postgres_url,
        "ASSAY_BROKER_URL": redis_url,
        "ASSAY_AUTH": "keys",
    }
    made = run_command(
        "keys",
        "create",
        "--name",
        "first",
        "--scope",
        "admin",
        environment={**os.environ, **environment},
        seconds=START_S,
    )
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    one = served(ASSAY, **environment)
    with httpx.Client(base_url=one.url(), timeout=60, headers={"Authorization": f"Bearer {key}"}) as client:
        # the first use of an API key is recorded, but only if the database can be written
        assert client.get("/v1/jobs").status_code == 200
        assert client.get("/readyz").status_code == 503
        refused = client.post("/v1/jobs", json=rating_request(services.url("faithful"), 6))
        assert (refused.status_code, refused.json()["code"]) == (503, "store-unavailable"), refused.text
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert ready(one.url())
        assert client.post("/v1/jobs", json=rating_request(services.url("faithful"), 6)).status_code == 202
