"""Measurement of the cost of requests and jobs: peak memory, and the delay of other requests."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import psutil

from cli.demo.client import Agency
from store.core.child_processes import ending_with_this_process
from store.core.database import Database
from store.security import keys
from tests.support.redis import free_port
from tests.support.scaled_agency import READY_S, running_agency
from tests.support.supervised import Supervised

ROOT = Path(__file__).resolve().parents[2]
READER = "store.formats.child"
"""The module that parses uploaded files in a child process; its memory is measured separately."""

MB = 10**6


@dataclass(frozen=True)
class Cost:
    """Cost of an attack.

    Attributes
    ----------
    attack, outcome : str
        Name of the attack, and its outcome in words.
    grown_mb, child_mb : float
        Largest growth of a process of the agency, and size of the largest child process that parses a file.
    loop_s : float
        Processor time of the API's main thread, which is its event loop.
    delay_s : float
        Longest response time of ``/livez`` during the attack.
    """

    attack: str
    outcome: str
    grown_mb: float
    child_mb: float
    loop_s: float
    delay_s: float


class Poller:
    """An honest client that requests ``/livez`` repeatedly."""

    def __init__(self, url: str, pause_s: float = 0.01) -> None:
        self.took_s: list[float] = []
        self._address, self._pause_s = urlsplit(url).netloc, pause_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="honest client", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)

    def quantile(self, share: float) -> float:
        """Return a quantile of the response times, in seconds."""
        return sorted(self.took_s)[min(len(self.took_s) - 1, int(share * len(self.took_s)))]

    def _poll(self) -> None:
        while not self._ended.is_set():
            connection = http.client.HTTPConnection(self._address, timeout=60)
            try:
                while not self._ended.wait(self._pause_s):
                    began = time.perf_counter()
                    connection.request("GET", "/livez")
                    connection.getresponse().read()
                    self.took_s.append(time.perf_counter() - began)
            except (OSError, http.client.HTTPException):
                self.took_s.append(60.0)  # a request without an answer counts as the slowest
            finally:
                connection.close()


class Memory:
    """Peak memory of processes and their children; children that parse files are measured separately."""

    def __init__(self, roots: Sequence[int]) -> None:
        self._roots, self.child_bytes = tuple(roots), 0
        self._before = {pid: _restart_peak(pid) for pid in self._processes()}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="children", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(10)

    def peaks(self) -> dict[int, int]:
        """Return the peak memory, in bytes, of each process that existed at the beginning."""
        return {pid: _resident(pid, "VmHWM") for pid in self._before if psutil.pid_exists(pid)}

    def growth(self) -> int:
        """Return the largest growth of a process since the beginning, in bytes."""
        return max(peak - self._before[pid] for pid, peak in self.peaks().items())

    def _processes(self) -> Iterator[int]:
        for root in self._roots:
            yield root
            yield from (one.pid for one in psutil.Process(root).children(recursive=True))

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            for pid in set(self._processes()) - set(self._before):
                try:
                    if READER in psutil.Process(pid).cmdline():
                        self.child_bytes = max(self.child_bytes, _resident(pid, "VmHWM"))
                except (psutil.Error, OSError, TypeError):
                    continue  # the process ended in the meantime


def _resident(pid: int, name: str) -> int:
    found = re.search(name + r":\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    return 1024 * int(found[1]) if found else 0


def _restart_peak(pid: int) -> int:
    """Reset a process's peak memory to its present size; return that size in bytes."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    return _resident(pid, "VmRSS")


def main_thread_s(pid: int) -> float:
    """Return the processor time that the main thread of a process has taken, in seconds."""
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def attackers(
    url: str, orders: Sequence[tuple[str, Sequence[str]]], *, seconds: float, patience_s: float
) -> Iterator[Callable[[], list[dict[str, list[str]]]]]:
    """Start an attacking process for each key and its attacks; yield a function that waits for their outcomes."""
    started = []
    for key, names in orders:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.attacks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
            preexec_fn=ending_with_this_process(),
        )
        assert process.stdin is not None
        order = {"url": url, "key": key, "names": list(names), "seconds": seconds, "patience_s": patience_s}
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        process.stdin = None
        started.append(process)

    def ended() -> list[dict[str, list[str]]]:
        told = [process.communicate(timeout=seconds + 300)[0] for process in started]
        return [json.loads(each) for each in told]

    try:
        yield ended
    finally:
        for process in started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@dataclass(frozen=True)
class Victim:
    """A running agency that requires keys.

    Attributes
    ----------
    url, database_url : str
        Addresses of its API and of its database.
    processes : tuple of Supervised
        The API process, and the worker process if there is one.
    """

    url: str
    database_url: str
    processes: tuple[Supervised, ...]

    @property
    def pids(self) -> list[int]:
        """Ids of the agency's processes, without their children."""
        return [each.process.pid for each in self.processes]

    def key(self, tenant: str) -> str:
        """Create a key for a tenant."""
        with closing(Database(self.database_url)) as database, database.write() as connection:
            return keys.create(connection, tenant, ["admin"], "for a test", None)[1]


@contextmanager
def victim(*, scaled: bool = False, **settings: str) -> Iterator[Victim]:
    """Start an agency that requires keys: one process, or an API and a worker with Postgres and Redis."""
    settings = {"ASSAY_AUTH": "keys", "ASSAY_EGRESS_ALLOW": "127.0.0.0/8", **settings}
    if scaled:
        with running_agency(workers=1, concurrency=4, settings=settings) as agency:
            yield Victim(agency.client().url, agency.database_url, (agency.apis[0], agency.workers[0]))
        return
    with tempfile.TemporaryDirectory(prefix="assay-victim-") as folder:
        url = f"http://127.0.0.1:{(port := free_port())}"
        settings |= {"ASSAY_DATA_DIR": folder, "ASSAY_PORT": str(port)}
        api = Supervised("embedded", ("serve",), settings, Path(folder))
        try:
            if not Agency(url).wait_until_ready(READY_S):
                raise RuntimeError(api.log.read_text())
            yield Victim(url, f"sqlite:///{folder}/assay.db", (api,))
        finally:
            api.close()


def cost_of(attack: str, of: Victim, key: str, *, patience_s: float) -> Cost:
    """Run one attack with the given API key, and measure its cost."""
    loop_s = main_thread_s(of.pids[0])
    with Memory(of.pids) as memory, Poller(of.url, pause_s=0.05) as poller:
        with attackers(of.url, [(key, [attack])], seconds=0, patience_s=patience_s) as ended:
            outcome = ended()[0][attack][0]
        grown, loop_s = memory.growth(), main_thread_s(of.pids[0]) - loop_s
    return Cost(attack, outcome, max(0, grown) / MB, memory.child_bytes / MB, loop_s, max(poller.took_s))
