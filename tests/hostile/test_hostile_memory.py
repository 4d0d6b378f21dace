"""Memory use of hostile answers, measured in a process that only makes calls.

The peak of resident memory (VmHWM) is reset before each call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

MIB = 1024 * 1024
STATUS = Path("/proc/self/status")

pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="the peak of resident memory is read from Linux's /proc")

METER = """
import re

def resident(name):
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(name + r":\\s+(\\d+) kB", status.read())[1])

def reset():
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    return resident("VmRSS")
"""

ASK = """
import asyncio, gc, json, sys
from ipaddress import ip_network
from workers.egress import CallFailed, Egress

async def once(egress, url):
    try:
        answer = await egress.send("POST", url, content=b"x", timeout_s=20)
        answer.json()
        return "answered"
    except CallFailed as failed:
        return failed.code

async def go(base, names):
    grown = {}
    async with Egress((ip_network("127.0.0.0/8"),)) as egress:
        await once(egress, f"{base}/small")
        for name in names:
            gc.collect()
            before = reset()
            outcome = await once(egress, f"{base}/{name}")
            grown[name] = (outcome, resident("VmHWM") - before)
    print(json.dumps(grown))

asyncio.run(go(sys.argv[1], sys.argv[2].split(",")))
"""

RUN = """
import sys
from store.core.database import Database
from store.security.secrets import Vault
from store.core.settings import Settings
from workers.run_job import run_job
from workers.engine.worker_context import WorkerContext

directory, url, first, second = sys.argv[1:]
settings = Settings(data_dir=directory, database_url=url, egress_allow="127.0.0.0/8", call_attempts=1)
context = WorkerContext(Database(url), Vault.from_settings(settings), settings)
run_job(first, context, "here")
before = reset()
run_job(second, context, "here")
print(resident("VmHWM") - before)
"""


def measured(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", METER + script, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]  # the result is the last line; log lines precede it


def bomb(size: int) -> Iterator[bytes]:
    """Compress some zeros, in pieces."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    for _ in range(size // MIB):
        yield squeeze.compress(bytes(MIB))
    yield squeeze.flush()


BOMB = b"".join(bomb(200 * MIB))
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKED = OK + CHUNKS
PIECE = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


def whole(body: bytes, headers: bytes = b"") -> bytes:
    return OK + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def poured(head: bytes, piece: bytes) -> AsyncIterator[bytes]:
    yield head
    while True:
        yield piece


# name: (the answer as bytes, or as a head and a repeated piece; the outcome; the maximum growth in bytes)
LITTLE, PARSED = 5 * 10**6, 64 * MIB
ANSWERS = {
    "gzip-bomb": (whole(BOMB, b"Content-Encoding: gzip\r\n"), "encoded-body", LITTLE),
    "gzip-bomb-in-chunks": ((OK + b"Content-Encoding: x-gzip\r\n" + CHUNKS, PIECE), "encoded-body", LITTLE),
    "bomb-that-says-nothing": (whole(BOMB), "bad-json", LITTLE),
    "endless-body": ((OK + b"\r\n", b"x" * 0x10000), "too-large", LITTLE),
    "endless-chunks": ((CHUNKED, PIECE), "too-large", LITTLE),
    "huge-chunk": ((CHUNKED + b"f" * 20 + b"\r\n", b"x" * 0x10000), "too-large", LITTLE),
    "tiny-chunks": ((CHUNKED, b"1\r\nx\r\n" * 10_000), "too-large", LITTLE),
    "fat-extensions": ((CHUNKED, b"1;" + b"e" * 30_000 + b"\r\nx\r\n"), "too-large", LITTLE),
    "huge-length": ((OK + b"Content-Length: 9999999999999\r\n\r\n", b"x" * 0x10000), "too-large", LITTLE),
    "endless-headers": ((OK, b"X-A: " + b"a" * 1000 + b"\r\n"), "too-large", LITTLE),
    "endless-hints": ((b"", b"HTTP/1.1 103 Early Hints\r\nLink: " + b"a" * 30_000 + b"\r\n\r\n"), "too-large", LITTLE),
    "huge-error": ((b"HTTP/1.1 500 No\r\n\r\n", b"x" * 0x10000), "too-large", LITTLE),
    "five-megabytes-of-text": (whole(b'{"translatedText": "' + b"x" * 5_000_000 + b'"}'), "too-large", LITTLE),
    "one-megabyte-of-text": (whole(b'{"translatedText": "' + b"x" * 1_000_000 + b'"}'), "answered", 2 * LITTLE),
    "many-objects": (whole(b"[" + b"{}," * 349_000 + b"{}]"), "answered", PARSED),
    "many-numbers": (whole(b"[" + b"1.5," * 262_000 + b"1.5]"), "answered", PARSED),
    "deep-arrays": (whole(b"[" * 100_000 + b"]" * 100_000), "bad-json", PARSED),
    "deep-objects": (whole(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "bad-json", PARSED),
    "huge-integer": (whole(b"1" + b"0" * 1_000_000), "bad-json", LITTLE),
}  # fmt: skip


@pytest.fixture(scope="module")
def growth(stage, open_villain) -> dict[str, tuple[str, int]]:
    """Make all calls in one process; return the outcome and the memory growth in bytes of each."""

    def script(heard):
        said = ANSWERS[heard.target[1:]][0] if heard.target != "/small" else whole(b"{}")
        return said if isinstance(said, bytes) else poured(*said)

    service = open_villain(script)
    return json.loads(measured(ASK, service.url, ",".join(ANSWERS)))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_hostile_answer_costs_little_memory(growth, record_property, name):
    _, code, most = ANSWERS[name]
    outcome, grown = growth[name]
    print(f"{name}: {outcome}, {grown / 1e6:.2f} MB")
    record_property("grown_bytes", grown)
    assert (outcome, grown < most) == (code, True), (
        f"{outcome}; grew by {grown:,} bytes, at most {most:,} were promised"
    )


def test_the_compressed_bomb_unpacks_to_200_mib():
    assert len(BOMB) < MIB
    unpack = zlib.decompressobj(31)
    size, rest = 0, BOMB
    while rest:
        size += len(unpack.decompress(rest, MIB))
        rest = unpack.unconsumed_tail
    assert size == 200 * MIB


@pytest.mark.slow
def test_a_service_with_megabyte_answers_does_not_fill_the_memory(open_villain, tools, office, record_property):
    sound = open_villain(tools.translator(tools.translated))
    wordy = open_villain(tools.translator(lambda heard: tools.as_json({"translatedText": "x" * 1_000_000})))
    first, second = office.post(sound.url), office.post(wordy.url)
    settings = office.context.settings
    grown = int(measured(RUN, str(settings.data_dir), str(settings.database_url), first.id, second.id))
    print(f"a job of megabytes: {grown / 1e6:.2f} MB")
    record_property("grown_bytes", grown)
    ended = office.run(second)  # the job has already ended, so `run` only reads its row
    failed = [one.observation for one in office.ledger(ended) if not one.observation.reply.ok]
    assert failed
    assert {one.reply.failure.code for one in failed} == {"too-large"}
    assert (ended.status, grown < 32 * MIB) == ("succeeded", True)
