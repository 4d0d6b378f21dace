"""A thousand viewers of one running job: ``python -m benchmarks.bench_live [SECONDS]``.

Each viewer asks for the part of the job's page that changes, with the `ETag` that it was given last: first once a
second, as browsers do, then as fast as it is answered. Viewers and agency share the processors of this machine.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from tests.support.agency_process import Process
from tests.support.counting_target import CountingTarget, rating_request

VIEWERS = 1000
MOST_READS = 4
"""Maximum number of reads of the status per second that the cache guarantees."""


@dataclass
class Seen:
    """Seconds that each answer took, by HTTP status."""

    took: dict[int, list[float]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of answers."""
        return sum(map(len, self.took.values()))

    def line(self, seconds: float) -> str:
        """Write the rates and medians."""
        found = [f"{self.count / seconds:.0f} requests/s"]
        for status, some in sorted(self.took.items()):
            found.append(f"{status}: {len(some) / seconds:.0f}/s, median {statistics.median(some) * 1000:.0f} ms")
        return ", ".join(found)


async def view(port: int, path: str, pause_s: float, until: float, seen: Seen) -> None:
    """Request the path repeatedly on one connection; pause `pause_s` seconds after each answer, as htmx does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    await asyncio.sleep(pause_s * (id(reader) % 997) / 997)  # spreads the requests of the viewers over time
    known = b""
    while (start := time.perf_counter()) < until:
        writer.write(
            f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept: text/html\r\naccept-encoding: gzip\r\n".encode()
            + (b"if-none-match: " + known + b"\r\n" if known else b"")
            + b"\r\n"
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        if status not in {200, 304}:
            raise SystemExit(f"the agency answered {head[:300]!r}")
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0))
        known = head.partition(b"etag: ")[2].partition(b"\r\n")[0]
        seen.took.setdefault(status, []).append(time.perf_counter() - start)
        await asyncio.sleep(pause_s)
    writer.close()


async def watched(port: int, path: str, pause_s: float, seconds: float) -> Seen:
    """Run all viewers for a number of seconds."""
    seen, until = Seen(), time.perf_counter() + seconds
    await asyncio.gather(*(view(port, path, pause_s, until, seen) for _ in range(VIEWERS)))
    return seen


def reads(port: int) -> float:
    """Return how often the agency has read a status from the database."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        found = re.search(r'assay_status_cache_total\{outcome="read"\} (\S+)', answer.read().decode())
    return float(found[1]) if found else 0.0


def processor_s(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure both paces of asking, once a second and as fast as possible, and print the results."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder, CountingTarget(0.3) as target:
        agency = Process(Path(folder))
        try:
            request = rating_request(target.url("watched"), 1)
            request["experiment"] |= {"texts_per_block": 400, "max_texts_per_block": 400, "stop_early": False}
            job = agency.agency.post("/v1/jobs", request)["id"]
            while agency.agency.get(f"/v1/jobs/{job}")["asked"] == 0:
                time.sleep(0.2)
            for what, pause_s in (("once a second", 1.0), ("as fast as it is answered", 0.0)):
                before, start, used = reads(agency.port), time.perf_counter(), processor_s(agency.process.pid)
                seen = asyncio.run(watched(agency.port, f"/jobs/{job}/now", pause_s, seconds))
                spent, used = time.perf_counter() - start, processor_s(agency.process.pid) - used
                print(f"{VIEWERS} viewers, {what}: {seen.line(spent)}")
                print(f"  status read {(reads(agency.port) - before) / spent:.1f}/s (goal <= {MOST_READS})")
                each = used / seen.count * 1000
                print(f"  processor time of the agency: {used / spent:.2f} of a core, {each:.1f} ms a request")
            if agency.agency.get(f"/v1/jobs/{job}")["status"] != "running":
                raise SystemExit("the job ended while it was watched")
        finally:
            agency.stop()


if __name__ == "__main__":
    main()
