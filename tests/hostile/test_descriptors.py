"""More connections than file descriptors: the limit is raised or fewer clients connect, and accepting pauses.

Row 89 of docs/reliability.md: ffe18d3c wrote 151,484 tracebacks in 30 s without a free descriptor; streams had no
limit.
"""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from cli.demo.client import Agency
from store.core.child_processes import ending_with_this_process
from tests.support.redis import free_port

ROOT = Path(__file__).resolve().parents[2]

HOLDING_SERVER = """
import asyncio, sys
from cli.agency.server import listening, on_loop_error
from store.core.settings import Settings

async def answer(reader, writer):
    if await reader.read(1) == b"?":
        writer.write(b"!")
    writer.close()

async def main():
    asyncio.get_running_loop().set_exception_handler(on_loop_error)
    await asyncio.start_server(answer, sock=listening(Settings(port=int(sys.argv[1]))), backlog=2048)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@contextmanager
def process_with(command, soft, hard, log, **environment):
    """Start a process with these limits of file descriptors."""
    limited = (
        f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard})); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", limited, *command],
            cwd=ROOT,
            env=clean | environment,
            stdout=output,
            stderr=output,
            preexec_fn=ending_with_this_process(),
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def agency(tmp_path, soft, hard):
    port, log = free_port(), tmp_path / "agency.log"
    environment = {"ASSAY_DATA_DIR": str(tmp_path / "data"), "ASSAY_PORT": str(port)}
    with process_with(["-m", "cli.main", "serve"], soft, hard, log, **environment) as process:
        assert Agency(f"http://127.0.0.1:{port}").wait_until_ready(60), log.read_text()
        yield port, log, process


def connected(port, number):
    """Open a connection from one of several addresses of this machine, because connections of a peer are limited."""
    opened = socket.socket()
    opened.settimeout(10)
    try:
        opened.bind((f"127.0.0.{2 + number % 50}", 0))
        opened.connect(("127.0.0.1", port))
    except OSError:
        opened.close()
        raise
    return opened


def answers(port):
    """Whether the agency answers a new client within 30 s."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with (
            suppress(OSError, http.client.HTTPException),
            closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as client,
        ):
            client.request("GET", "/livez")
            if client.getresponse().status == 200:
                return True
        time.sleep(0.2)
    return False


@pytest.mark.slow
def test_the_limit_of_file_descriptors_is_raised_at_the_start(tmp_path):
    with agency(tmp_path, 256, 20_000) as (_, log, process):
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        soft = next(int(line.split()[3]) for line in limits.splitlines() if line.startswith("Max open files"))
        assert soft > 4_000
        assert "limit of file descriptors raised" in log.read_text()


@pytest.mark.slow
def test_connections_above_the_file_descriptor_limit_are_refused_and_the_others_answered(tmp_path):
    # 4,000 connections were allowed with 1,024 descriptors: 151,484 tracebacks in 30 s, and no answer to anybody
    with agency(tmp_path, 256, 256) as (port, log, process), ExitStack() as stack:
        for number in range(600):
            with suppress(OSError):
                stack.enter_context(connected(port, number))
        time.sleep(2)
        assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < 256
        stack.close()
        assert answers(port)
        assert "fewer connections than usual" in log.read_text()
        assert "accepting connections paused" not in log.read_text(), "refused connections took the others' descriptors"
        assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_accepting_connections_pauses_while_file_descriptors_are_exhausted_and_then_resumes(tmp_path):
    port, log = free_port(), tmp_path / "server.log"
    with process_with(["-c", HOLDING_SERVER, str(port)], 64, 64, log), ExitStack() as stack:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError):
                stack.enter_context(connected(port, 0))
                break
            time.sleep(0.2)
        for number in range(200):
            with suppress(OSError):
                stack.enter_context(connected(port, number))
        began = time.monotonic()
        time.sleep(3)
        paused_s = time.monotonic() - began
        stack.close()
        with connected(port, 1) as honest:
            honest.settimeout(20)
            honest.sendall(b"?")
            assert honest.recv(1) == b"!"
        written = log.read_text()
    assert 1 <= written.count("accepting connections paused for a second") <= paused_s + 5
    assert "Traceback" not in written
