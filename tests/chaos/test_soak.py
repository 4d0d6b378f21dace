"""Soak test: memory, descriptors and threads of an agency under load do not grow (docs/reliability.md, rows 60 and 85).

Five seconds of load in the suite, ten minutes in ``make chaos``, an hour in ``make soak``.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

import httpx
import psutil
import pytest
from scipy.stats import theilslopes

from tests.support.counting_target import rating_request
from tests.support.scaled_agency import ScaledAgency

MINUTES = {"short": 5 / 60, "long": 10, "night": 60}
REPORTS = ("report.html", "report.md")


@dataclass(frozen=True)
class Footprint:
    """Resources of a process: current and peak resident memory (MB), file descriptors and threads."""

    memory_mb: float
    peak_mb: float
    descriptors: float
    threads: float


MOST_GROWN = Footprint(memory_mb=24, peak_mb=32, descriptors=20, threads=4)
"""Maximum growth of a process, read off a line fitted to the samples, from the first sample to the last.

It leaves room for caches that fill (2,048 statuses of 8 kB), and for the descriptors that a new process of a pool
inherits from its parent; processes of a pool are replaced after 200 jobs.
"""


def footprint_of(process: psutil.Process) -> Footprint:
    with open(f"/proc/{process.pid}/status") as status:
        shown = dict(line.split(":", 1) for line in status)
    kilobytes = {name: int(shown[name].split()[0]) for name in ("VmRSS", "VmHWM")}
    return Footprint(
        kilobytes["VmRSS"] / 1024, kilobytes["VmHWM"] / 1024, process.num_fds(), int(shown["Threads"].strip())
    )


def footprints(agency: ScaledAgency) -> dict[str, Footprint]:
    """Return the footprint of each process, and the largest numbers of each pool, whose processes are replaced."""
    found: dict[str, Footprint] = {}
    for each in agency.processes:
        found[each.name] = footprint_of(psutil.Process(each.process.pid))
        pool = []
        for child in each.children():
            try:
                pool.append(footprint_of(child))
            except (psutil.NoSuchProcess, FileNotFoundError, KeyError):  # the process is being replaced
                continue
        if pool:
            found[f"{each.name}, pool"] = Footprint(*map(max, *map(astuple, pool), [0.0] * 4))
    return found


def growth(times: Sequence[float], values: Sequence[float]) -> float:
    """Return the growth over the whole time, along a line through the samples that ignores outliers (Theil-Sen)."""
    return float(theilslopes(values, times).slope) * (times[-1] - times[0])


def test_the_growth_measure_detects_a_slow_leak_and_ignores_a_short_peak():
    times = [float(second) for second in range(60)]
    noise = [(7 * second) % 5 for second in range(60)]
    assert growth(times, [100 + 0.5 * second + jitter for second, jitter in zip(times, noise, strict=True)]) > 20
    assert abs(growth(times, [100 + 300 * (second == 30) + jitter for second, jitter in enumerate(noise)])) < 5


class Load:
    """Work of many kinds: jobs, polls, reports, lists and uploads."""

    def __init__(self, agency: ScaledAgency, target) -> None:
        self._agency, self._target, self.jobs = agency, target, 0

    def work(self) -> None:
        """Run six jobs, read their reports, and store, list and remove an upload."""
        ids = []
        for _ in range(6):
            self.jobs += 1
            ids.append(self._agency.post(rating_request(self._target.url("soak"), self.jobs, concurrency=8)))
        ended = self._agency.finished(ids)
        assert {job["status"] for job in ended} == {"succeeded"}
        for place in range(2):
            with httpx.Client(base_url=self._agency.client(place).url, timeout=60) as client:
                self._read(client, [job["rating"]["href"] for job in ended[place::2]])
                self._upload(client, place)

    def _read(self, client: httpx.Client, ratings: Sequence[str]) -> None:
        for rating in ratings:
            for path in (rating, *(f"{rating}/{report}" for report in REPORTS)):
                assert client.get(path).status_code == 200, path
        assert client.get("/v1/jobs?limit=50").status_code == 200
        assert client.get("/metrics").status_code == 200

    def _upload(self, client: httpx.Client, place: int) -> None:
        rows = "\n".join(f"{row},{self.jobs},{place}" for row in range(2000))
        sent = client.post(
            "/v1/uploads?name=soak&purpose=table",
            content=f"row,job,place\n{rows}\n".encode(),
            headers={"Content-Type": "text/csv"},
        )
        assert sent.status_code == 201, sent.text
        assert client.delete(f"/v1/uploads/{sent.json()['id']}").status_code == 204


def test_memory_file_descriptors_and_threads_do_not_grow_under_load(agency, target, pytestconfig: pytest.Config):
    target.delay_s = 0
    minutes = pytestconfig.getoption("--soak-minutes") or MINUTES[pytestconfig.getoption("--chaos-scale")]
    load = Load(agency, target)
    for _ in range(3):  # every process has then imported its modules and opened its files
        load.work()
    began = time.monotonic()
    until, samples = began + 60 * minutes, defaultdict[str, list[tuple[float, Footprint]]](list)
    print_at = began + 60
    while time.monotonic() < until or len(next(iter(samples.values()), [])) < 3:
        load.work()
        now = time.monotonic()
        for name, one in footprints(agency).items():
            samples[name].append((now - began, one))
        if now > print_at:
            print_at += 60
            print(f"{(now - began) / 60:.0f} min, {load.jobs} jobs: {footprints(agency)}", file=sys.stderr)
    grown = {
        f"{part.name} of {name}": growth([at for at, _ in seen], [getattr(one, part.name) for _, one in seen])
        for name, seen in samples.items()
        for part in fields(Footprint)
    }
    print(f"growth in {load.jobs} jobs, {minutes:g} minutes: {grown}", file=sys.stderr)
    limits = {
        f"{part.name} of {name}": getattr(MOST_GROWN, part.name) for name in samples for part in fields(Footprint)
    }
    assert {name: by for name, by in grown.items() if by > limits[name]} == {}
