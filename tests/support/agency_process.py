"""`assay serve` in a process of its own, for tests that use the agency as its clients do."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from cli.demo.client import Agency
from tests.support.commands import Command

START_S = 240


def free_port() -> int:
    """Return a free port outside the range that the kernel assigns to outgoing connections."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Process:
    """`assay serve` in its own process, with a data directory that is kept when the process ends."""

    def __init__(self, data: Path, port: int | None = None, **environment: str) -> None:
        self.data, self.port = data, port or free_port()
        self.log = data / "serve.log"
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
            "ASSAY_DATA_DIR": str(data),
            "ASSAY_EGRESS_ALLOW": "127.0.0.0/8",
            **environment,
        }
        self.start()

    def start(self) -> None:
        """Start the agency, and wait until it is ready."""
        self.process = Command(("serve", "--port", str(self.port)), self._environment, self.log, self.log)
        self.agency = Agency(f"http://127.0.0.1:{self.port}")
        assert self.agency.wait_until_ready(START_S), self.log.read_text()

    def kill(self) -> None:
        """Kill the process and its children at once (SIGKILL)."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Stop the agency in an orderly way, or by force after 20 seconds."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def finished(self, job_id: str, seconds: float = 240) -> dict[str, Any]:
        """Wait for the end of a job, and return the job."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            job: dict[str, Any] = self.agency.get(f"/v1/jobs/{job_id}")
            if job["status"] in ("succeeded", "failed", "cancelled"):
                return job
            time.sleep(0.1)
        raise AssertionError(f"job still {job['status']} after {seconds} s: {job}\n{self.log.read_text()[-3000:]}")
