"""Measure seconds until the help text, the ready agency, its first and next rating, and the end of `assay rate`.

Each is a new process, as a newcomer starts it, with a service of known bias on this machine that answers at once.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from demo.server import DemoServer

ASSAY = str(Path(sys.executable).parent / "assay")
ROUNDS = 3
GOALS = {"help": 0.25, "serve, ready": 2.0, "first rating less the next": 1.0, "rate": 3.0}
"""Goals for the times, in seconds."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}


def timed_command(*arguments: str) -> float:
    """Run `assay` in a new process; return the seconds it took."""
    start = time.perf_counter()
    subprocess.run([ASSAY, *arguments], capture_output=True, env=ENVIRONMENT, check=False, timeout=120)
    return time.perf_counter() - start


@contextmanager
def agency() -> Iterator[tuple[str, float]]:
    """Start `assay serve` with an empty database; yield its address and the seconds until it is ready."""
    with tempfile.TemporaryDirectory() as folder:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        start = time.perf_counter()
        command = [ASSAY, "serve", "--port", str(port), "--data-dir", folder, "--egress-allow", "127.0.0.0/8"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        try:
            url = f"http://127.0.0.1:{port}"
            while True:
                try:
                    if httpx.get(f"{url}/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.02)
            yield url, time.perf_counter() - start
        finally:
            process.terminate()
            process.wait(30)


def timed_rating(url: str, service: str, seed: int) -> float:
    """Request a rating; return the seconds until it is complete."""
    target = {"name": "t", "kind": "translator", "protocol": "libretranslate", "base_url": service}
    body = {"target": target, "experiment": {"method": "round-trip", "attribute": "gender"}, "seed": seed}
    start = time.perf_counter()
    job = httpx.post(f"{url}/v1/jobs", json={**body, "max_age_s": 0}, headers={"Prefer": "wait=60"}, timeout=90)
    path = job.raise_for_status().headers["Location"]
    while job.json()["status"] not in {"succeeded", "failed"}:
        job = httpx.get(f"{url}{path}", headers={"Prefer": "wait=60"}, timeout=90).raise_for_status()
    assert job.json()["status"] == "succeeded", job.text
    return time.perf_counter() - start


def main() -> None:
    """Print the median of each time over `ROUNDS` rounds."""
    found: dict[str, list[float]] = {name: [] for name in GOALS}
    with DemoServer() as services:
        service = services.url("faithful")
        for _ in range(ROUNDS):
            found["help"].append(timed_command("--help"))
            found["rate"].append(timed_command("rate", "--protocol", "libretranslate", "--url", service))
            with agency() as (url, ready):
                found["serve, ready"].append(ready)
                first, following = (timed_rating(url, service, seed) for seed in (1, 2))
                found["first rating less the next"].append(first - following)
    for name, goal in GOALS.items():
        print(f"{name:28s} {statistics.median(found[name]):6.2f} s   goal {goal:.2f}")


if __name__ == "__main__":
    main()
