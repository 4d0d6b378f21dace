"""A whole rating job against a bare asyncio loop that makes the same calls at the same concurrency.

``python -m benchmarks.bench_pipe [CALLS] [CONCURRENCY] [DELAY_MS]``

The reference writes the same request bodies to raw asyncio connections and reads the replies: no
client library, no retries, no guard, no ledger. Both run in this process, one after the other,
three times; the ratio of the fastest runs and the growth of memory are printed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import structlog

from assay.catalog import languages
from assay.experiment import run
from assay.methods import RoundTrip
from assay.model import Probe, Reply, Translate
from benchmarks.target import BACK, THERE
from store.core import migrate
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import NewJob
from store.ratings.experiment_json import dump_method
from workers.engine.tasks import open_context
from workers.run_job import run_job

CALLS_A_LANGUAGE = 2 * 3 * 320


def method(calls: int) -> RoundTrip:
    """Return a fixed design that makes about `calls` distinct calls."""
    codes = [code for code in languages() if code != "en"]
    whole, rest = divmod(calls, CALLS_A_LANGUAGE)
    if whole == 0:
        return RoundTrip("gender", languages=("es",), stop_early=False, texts_per_block=max(1, rest // 6))
    return RoundTrip("gender", languages=tuple(codes[:whole]), stop_early=False, texts_per_block=320)


def bodies_of(design: RoundTrip) -> list[bytes]:
    """Return the request bodies that the pipe sends, in its order."""
    bodies: list[bytes] = []

    def answer(probe: Probe) -> Reply:
        ask = probe.ask
        assert isinstance(ask, Translate)
        bodies.append(json.dumps({"q": ask.text, "source": ask.source, "target": ask.target}).encode())
        return Reply(ask.text.translate(BACK if ask.target == "en" else THERE))

    run(design, answer, 1)
    return bodies


async def bare_loop(port: int, bodies: list[bytes], concurrency: int) -> None:
    """Send every body over one of `concurrency` open connections and read the reply."""
    rest = iter(bodies)

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in rest:
            writer.write(
                b"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                % (len(body), body)
            )
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            json.loads(await reader.readexactly(length))["translatedText"]
        writer.close()

    await asyncio.gather(*(work() for _ in range(concurrency)))


def pipe(port: int, design: RoundTrip, concurrency: int, folder: str) -> int:
    """Rate the target through job, driver, ledger and rating; return the calls made."""
    settings = Settings(data_dir=Path(folder), egress_allow="127.0.0.0/8")
    migrate.upgrade(settings.resolved_database_url)
    context = open_context(settings)
    target = {
        "name": "bench",
        "kind": "translator",
        "protocol": "custom",
        "base_url": f"http://127.0.0.1:{port}",
        "settings": {
            "path": "/translate",
            "body": {"q": "{text}", "source": "{source}", "target": "{target}"},
            "output": "translatedText",
        },
        "limits": {"concurrency": concurrency, "timeout_s": 30},
    }
    new = NewJob(
        tenant="default",
        kind="rating",
        target_id=None,
        target=target,
        sealed_secret=None,
        experiment=dump_method(design),
        request_digest="bench",
        seed=1,
        visibility="private",
        callback_url=None,
        max_calls=10**7,
        deadline_s=3600,
        expected=design.expected_probes(),
        key_id=None,
    )
    with context.database.write() as connection:
        job = jobs.add(connection, new)
    run_job(job.id, context, "bench")
    with context.database.read() as connection:
        ended = jobs.find(connection, job.id, None)
    context.database.close()
    if ended is None or ended.status != "succeeded":
        raise SystemExit(f"the job did not succeed: {ended}")
    return ended.asked


@contextmanager
def target(delay_ms: float) -> Iterator[int]:
    """Run the target in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.target", str(delay_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield int(process.stdout.readline())
        process.stdin.close()


class Memory(threading.Thread):
    """Thread that records the largest resident memory of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process()
        self.before = self.most = self._process.memory_info().rss
        self._done = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._done.wait(0.05):
            self.most = max(self.most, self._process.memory_info().rss)

    def grown_mb(self) -> float:
        self._done.set()
        self.join()
        return (self.most - self.before) / 2**20


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    calls, concurrency, delay_ms = [*map(int, sys.argv[1:]), *(5760, 32, 20)[len(sys.argv) - 1 :]]
    design = method(calls)
    bodies = bodies_of(design)
    with target(delay_ms) as port:
        # warm-up, so that the first measured calls are not slower
        asyncio.run(bare_loop(port, bodies[:200], concurrency))
        with tempfile.TemporaryDirectory() as folder:
            pipe(port, method(120), concurrency, folder)
        bare, ours = [], []
        memory = Memory()
        for _ in range(3 if calls <= 20_000 else 1):
            bare.append(timed(lambda: asyncio.run(bare_loop(port, bodies, concurrency))))
            with tempfile.TemporaryDirectory() as folder:
                ours.append(timed(partial(pipe, port, design, concurrency, folder)))
        grown = memory.grown_mb()
    print(
        f"{len(bodies)} calls of {delay_ms} ms at concurrency {concurrency}: "
        f"bare loop {min(bare):.2f} s, whole pipe {min(ours):.2f} s, ratio {min(ours) / min(bare):.2f}; "
        f"memory grew by {grown:.0f} MB"
    )


if __name__ == "__main__":
    main()
