"""Maintenance while jobs are posted and run breaks no promise (docs/reliability.md, row 81).

The steps are those of docs/operations.md: backup and restore, rotation of the secret key, and an upgrade.

Row 81 of docs/reliability.md: at c37b512 rotation, migration and backup were tested without load only.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest

from tests.support.commands import run_command
from tests.support.counting_target import rating_request
from tests.support.promise_checker import check_promises
from tests.support.reference_ratings import reference_ratings, without_run
from tests.support.scaled_agency import SHORT, ScaledAgency, running_agency

DELAY_S = 0.05
PAUSE_S, LONG_PAUSE_S = 0.5, 2.0
"""Seconds between two posts; with the long one a job is always running, and slow restarts bring no hundred."""
FIRST_KEY, SECOND_KEY = SHORT["ASSAY_SECRET_KEY"], "another key that all processes share"
SECRET = "sk-that-the-service-must-receive-{}"


def asked_of(target, name: str, seed: int) -> dict:
    request = rating_request(target.url(name), seed)
    request["target"]["secret"] = SECRET.format(seed)
    return request


class Load:
    """Posts jobs one after the other until it is stopped; each job has its own address and a secret."""

    def __init__(self, agency: ScaledAgency, target, name: str, pause_s: float) -> None:
        self._agency, self._target, self._name, self._pause_s = agency, target, name, pause_s
        self.ids: list[str] = []
        self.requests: list[dict] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._post, name="load", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join(120)

    def wait_for(self, jobs: int, seconds: float = 240) -> None:
        until = time.monotonic() + seconds
        while len(self.ids) < jobs:
            assert time.monotonic() < until, f"only {len(self.ids)} of {jobs} jobs were posted in {seconds} s"
            time.sleep(0.05)

    def _post(self) -> None:
        while not self._done.is_set():
            seed = len(self.ids)
            request = asked_of(self._target, f"{self._name}-{seed}", seed)
            self.requests.append(request)
            self.ids.append(self._surely(request))
            self._done.wait(self._pause_s)

    def _surely(self, request: dict) -> str:
        """Post as a careful caller does, with an Idempotency-Key; use the other API process if one is restarting."""
        until = time.monotonic() + 240
        while time.monotonic() < until:
            headers = {"Idempotency-Key": f"{self._name}-{request['seed']}"}
            url = f"{self._agency.client().url}/v1/jobs"
            try:
                answer = httpx.post(url, json=request, headers=headers, timeout=30)
            except httpx.TransportError:
                time.sleep(0.1)
                continue
            if answer.status_code == 202:
                return answer.json()["id"]
            assert answer.status_code in {409, 503}, answer.text
            time.sleep(0.1)
        raise TimeoutError("no API process accepted the job")


@pytest.fixture
def loaded(agency, target, request) -> Iterator[Callable[..., Load]]:
    target.delay_s = DELAY_S
    started: list[Load] = []

    def start(pause_s: float = PAUSE_S) -> Load:
        started.append(Load(agency, target, request.node.name, pause_s))
        started[-1].start()
        return started[-1]

    yield start
    for load in started:
        load.stop()


def check_jobs(agency: ScaledAgency, target, requests: list[dict], ids: list[str]) -> None:
    """Check that each job ended once with the rating of a run without maintenance, and that its secret arrived."""
    ended = agency.finished(ids, 600)
    assert {job["status"] for job in ended} == {"succeeded"}, [job["error"] for job in ended]
    assert check_promises(agency.database_url, all_ended=False).broken == []
    for request in requests:
        assert target.secrets[request["target"]["base_url"].rpartition("/")[2]] == {SECRET.format(request["seed"])}
    target.delay_s = 0
    expected = reference_ratings([{**each, "target": _without_secret(each["target"])} for each in requests])
    target.secrets.clear()
    assert [without_run(agency.read(job["rating"]["href"])) for job in ended] == expected


def _without_secret(target: dict) -> dict:
    return {name: value for name, value in target.items() if name != "secret"}


def rows_of(database_url: str, ids: list[str]) -> set[str]:
    with psycopg.connect(database_url) as connection:
        return {row[0] for row in connection.execute("SELECT id FROM jobs WHERE id = ANY(%s)", [ids])}


def test_a_backup_made_under_load_is_restored_with_every_job_and_secret(agency, target, loaded, tmp_path):
    load = loaded()
    load.wait_for(6)
    before = list(load.ids)
    file = agency.postgres.directory / "backup.dump"  # a folder that the server's user may write to
    agency.postgres.run("pg_dump", "--format=custom", f"--file={file}", agency.database)
    agency.postgres.execute("CREATE DATABASE restored")
    agency.postgres.run("pg_restore", "--dbname=restored", str(file))
    load.stop()
    check_jobs(agency, target, load.requests, load.ids)

    target.delay_s = DELAY_S
    assert rows_of(agency.postgres.url("restored"), before) == set(before), "the ids stay"
    with running_agency(apis=1, workers=1, postgres=agency.postgres, database="restored") as restored:
        kept = [number for number, job in enumerate(load.ids) if job in rows_of(restored.database_url, load.ids)]
        check_jobs(restored, target, [load.requests[n] for n in kept], [load.ids[n] for n in kept])


LATER = """
ALTER TABLE jobs ADD COLUMN added_later BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ratings ADD COLUMN added_later TEXT;
CREATE TABLE added_later (id TEXT PRIMARY KEY);
UPDATE alembic_version SET version_num = '9999'
"""
"""Statements of a migration to the next version: it adds columns with a default, and tables."""


@contextmanager
def migrated(agency: ScaledAgency) -> Iterator[None]:
    """Apply a migration of a later version as one transaction; undo it afterwards."""
    with psycopg.connect(agency.database_url) as connection:
        (present,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        connection.execute("SELECT pg_advisory_xact_lock(1)")
        connection.execute(LATER)
    try:
        yield
    finally:
        agency.postgres.execute(f"UPDATE alembic_version SET version_num = '{present}'", agency.database)
        agency.postgres.execute("DROP TABLE added_later", agency.database)
        for table in ("jobs", "ratings"):
            agency.postgres.execute(f"ALTER TABLE {table} DROP COLUMN added_later", agency.database)


def test_running_processes_stay_ready_after_the_migration_of_a_later_version(agency, target, loaded):
    before = [len(process.exits) for process in agency.processes]
    load = loaded()
    load.wait_for(4)
    migrate = run_command("migrate", environment=agency.environment, seconds=240)  # the schema is up to date
    assert migrate.returncode == 0, migrate.stderr
    with migrated(agency):
        load.wait_for(len(load.ids) + 6)
        # earlier, a later schema made every running process unready, so an upgrade was an outage
        for place in range(2):
            agency.client(place).get("/readyz")
        load.stop()
        check_jobs(agency, target, load.requests, load.ids)
        assert [len(process.exits) for process in agency.processes] == before, "no process ended"


GRACE_S = 60
"""Time after which a process that was told to end is killed, as Docker and Kubernetes do (docker-compose.yml: 40 s)."""


def restart(agency: ScaledAgency, **changed: str) -> None:
    """Restart every process with other variables, one after the other, as an operator rolls a release."""
    for process in agency.processes:
        seen = len(process.exits)
        process.restart_with(changed)
        until = time.monotonic() + GRACE_S
        while len(process.exits) == seen and time.monotonic() < until:
            time.sleep(0.1)
        if len(process.exits) == seen:
            print(f"{process.name} was killed after {GRACE_S} s", file=sys.stderr)
            process.kill()
        while len(process.exits) == seen:
            assert time.monotonic() < until + GRACE_S, f"{process.name} did not end"
            time.sleep(0.1)
        time.sleep(1)
        agency.wait_until_ready()


def rotate(agency: ScaledAgency, **keys: str) -> str:
    environment = {**agency.environment, **keys}
    done = run_command("secrets", "rotate", environment=environment, seconds=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_secret_key_is_rotated_under_load_and_no_job_loses_its_secret(agency, target, loaded):
    """The last test of the module, because it leaves the agency with another key."""
    load = loaded(LONG_PAUSE_S)
    load.wait_for(4)
    # the earlier procedure failed: restarted processes sealed secrets with the new key, which the other
    # processes could not open, so that jobs failed with `secret_lost`
    restart(agency, ASSAY_SECRET_KEY=FIRST_KEY, ASSAY_SECRET_KEY_OLDER=SECOND_KEY)
    restart(agency, ASSAY_SECRET_KEY=SECOND_KEY, ASSAY_SECRET_KEY_OLDER=FIRST_KEY)
    told = rotate(agency, ASSAY_SECRET_KEY=SECOND_KEY, ASSAY_SECRET_KEY_OLDER=FIRST_KEY)
    assert "None is left under an older key" in told
    restart(agency, ASSAY_SECRET_KEY=SECOND_KEY, ASSAY_SECRET_KEY_OLDER="")
    load.wait_for(len(load.ids) + 4)
    load.stop()
    print(f"{len(load.ids)} jobs during the rotation", file=sys.stderr)
    check_jobs(agency, target, load.requests, load.ids)
