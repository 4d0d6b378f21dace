"""Processes that Assay, its demo and its tests start end when the process that started them is killed.

Row 113 of docs/reliability.md: at ffe18d3c agencies of a killed test run worked an hour later.
"""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from store.core import child_processes
from tests.support.redis import free_port

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells children of their parent's end on Linux only"),
]

LIMITED_CHILD = """
import os, subprocess, sys, time
os.mkfifo(sys.argv[1])
subprocess.Popen([sys.executable, "-m", "store.formats.child"], stdin=os.open(sys.argv[1], os.O_RDWR))
time.sleep(100)
"""
"""The child waits for an order, and its own standard input would never end."""

TEST_SUITE = """
import sys, time
from pathlib import Path
from tests.support.commands import Command
if __name__ == "__main__":
    settings = {"ASSAY_DATA_DIR": sys.argv[1], "ASSAY_PORT": sys.argv[2]}
    Command(("serve",), settings, Path(sys.argv[1] + ".out"), Path(sys.argv[1] + ".err"))
    time.sleep(100)
"""

SERVERS = """
import time
from tests.support.postgres import PostgresServer
from tests.support.redis import RedisServer
with PostgresServer.running(), RedisServer.running():
    time.sleep(100)
"""


def started(*command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=clean | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=child_processes.ending_with_this_process(),
    )


@contextmanager
def killed_when(is_complete, process):
    """Yield the descendants of a process after they are complete and the process alone is killed."""
    descendants: list[psutil.Process] = []
    try:
        until = time.monotonic() + 90
        while not is_complete(descendants):
            assert time.monotonic() < until, [child.cmdline() for child in descendants]
            assert process.poll() is None, "the process ended by itself"
            time.sleep(0.3)
            descendants = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        yield descendants
    finally:
        for child in descendants:
            if child.is_running():
                child.kill()
        if process.poll() is None:
            process.kill()
            process.wait()


def remaining(processes, seconds=20):
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return [child.cmdline() for child in alive if child.status() != psutil.STATUS_ZOMBIE]


def listening(port):
    def is_complete(children):
        return any(
            connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
            for child in children
            for connection in child.net_connections()
        )

    return is_complete


def running(*names):
    """Whether processes whose command lines contain these words run."""

    def is_complete(children):
        commands = []
        for child in children:
            with suppress(psutil.NoSuchProcess):  # it has ended since the children were listed
                commands.append(" ".join(child.cmdline()))
        return all(any(name in command for command in commands) for name in names)

    return is_complete


def test_the_agency_process_ends_when_the_demo_that_started_it_is_killed():
    with killed_when(running("cli.main serve"), started("-m", "cli.main", "demo", "--keep")) as children:
        assert remaining(children) == []


def test_a_child_process_that_reads_an_upload_ends_when_the_agency_is_killed(tmp_path):
    def is_reading(children):
        # the child asks the kernel as soon as its libraries are imported
        return any(
            "store.formats.child" in child.cmdline() and time.time() - child.create_time() > 8 for child in children
        )

    process = started("-c", LIMITED_CHILD, str(tmp_path / "order"))
    with killed_when(is_reading, process) as children:
        assert remaining(children) == []


def test_processes_started_by_a_test_suite_end_when_the_test_suite_is_killed(tmp_path):
    script, port = tmp_path / "suite.py", free_port()
    script.write_text(TEST_SUITE)
    process = started(str(script), str(tmp_path / "data"), str(port), PYTHONPATH=str(ROOT))
    with killed_when(listening(port), process) as children:
        assert remaining(children) == []


def test_redis_and_postgres_of_a_test_suite_end_when_the_test_suite_is_killed():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)  # Postgres runs as another user
        process = started("-c", SERVERS, TMPDIR=folder)
        with killed_when(running("redis", "postgres: checkpointer"), process) as children:
            assert remaining(children) == []


def test_pool_processes_of_a_worker_end_when_the_worker_is_killed(postgres_url, redis_url, tmp_path):
    environment = {
        "ASSAY_DATABASE_URL": postgres_url,
        "ASSAY_BROKER_URL": redis_url,
        "ASSAY_SECRET_KEY": base64.b64encode(bytes(32)).decode(),
        "ASSAY_DATA_DIR": str(tmp_path),
    }
    process = started("-m", "cli.main", "worker", "--concurrency", "2", **environment)

    def is_complete(children):
        # a child of this age has asked the kernel to end it with its parent
        return len([child for child in children if time.time() - child.create_time() > 3]) >= 2

    with killed_when(is_complete, process) as children:
        assert remaining(children) == []
