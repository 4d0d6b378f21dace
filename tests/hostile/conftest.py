"""Hostile services on this machine, which answer by a script and record their requests.

127.0.0.2 stands for a public address and 127.0.0.3 for a private one wherever the operator's
allow-list of a test says so: nothing here dials beyond 127.0.0.0/8.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from assay.canonical import digest_of
from assay.methods import RoundTrip
from demo.translators.behaviours import BEHAVIOURS
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs, observations
from store.jobs.jobs import Job, NewJob
from store.jobs.observations import StoredObservation
from store.ratings import ratings
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from workers.engine.worker_context import WorkerContext
from workers.run_job import run_job

T = TypeVar("T")
PUBLIC, PRIVATE = "127.0.0.2", "127.0.0.3"
WAIT_S = 60


# ---------------------------------------------------------------------------- services that answer by a script
class Stage:
    """An event loop in its own thread, for the services of a test."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="stage", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(WAIT_S)

    def close(self) -> None:
        """Stop the loop and its tasks."""

        async def end() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.get_running_loop().shutdown_default_executor()

        self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(WAIT_S)
        self.loop.close()


@dataclass(frozen=True)
class Heard:
    """One received request."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def texts(self) -> list[str]:
        """The texts of a LibreTranslate request."""
        q = json.loads(self.body)["q"]
        return q if isinstance(q, list) else [q]


Answer = bytes | AsyncIterator[bytes]
"""Bytes, after which the connection stays open; or pieces of an answer, after which the connection is closed."""

Script = Callable[[Heard], Answer]


@dataclass
class Villain:
    """A service that answers by a script and counts its connections.

    Attributes
    ----------
    connections : int
        Connections that were accepted.
    heard : list of Heard
        Requests that were read.
    """

    script: Script
    address: str
    port: int = 0
    scheme: str = "http"
    connections: int = 0
    heard: list[Heard] = field(default_factory=list)
    server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Address of the service."""
        return f"{self.scheme}://{self.address}:{self.port}"

    async def open(self, tls: ssl.SSLContext | None) -> None:
        """Start listening."""
        self.scheme = "https" if tls else "http"
        self.server = await asyncio.start_server(self._talk, self.address, self.port, ssl=tls)
        self.port = self.server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening."""
        assert self.server is not None
        self.server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while (heard := await _request(reader, number)) is not None:
                self.heard.append(heard)
                said = self.script(heard)
                if isinstance(said, bytes):
                    writer.write(said)
                    await writer.drain()
                    continue
                async for piece in said:
                    writer.write(piece)
                    await writer.drain()
                break
        except (OSError, asyncio.CancelledError):  # the caller disconnected, or the test ended
            pass
        finally:
            writer.close()


async def _request(reader: asyncio.StreamReader, connection: int) -> Heard | None:
    """Read one request; ``None`` at the end of the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = first.split(" ")
    return Heard(method, target, headers, body, connection)


def raw(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a complete response; underscores in header names become hyphens."""
    content = body.encode() if isinstance(body, str) else body
    lines = {"content-length": str(len(content)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


def as_json(value: Any, status: str = "200 OK", **headers: str) -> bytes:
    """Return a complete JSON response."""
    return raw(json.dumps(value), status, content_type="application/json", **headers)


async def said(*pieces: bytes) -> AsyncIterator[bytes]:
    """Send some bytes and close the connection."""
    for piece in pieces:
        yield piece


async def endless(head: bytes, piece: bytes, every_s: float = 0.0) -> AsyncIterator[bytes]:
    """Send some bytes, then repeat a piece forever."""
    yield head
    while True:
        yield piece
        await asyncio.sleep(every_s)


async def silence(head: bytes = b"") -> AsyncIterator[bytes]:
    """Send the given bytes, if any, then stay silent."""
    yield head
    await asyncio.sleep(10 * WAIT_S)


PROTOCOL_OF_KIND = as_json([{"code": code, "name": code, "targets": ["en", "es"]} for code in ("en", "es")])


def translated(heard: Heard) -> bytes:
    """Answer a LibreTranslate request correctly."""
    order = json.loads(heard.body)
    out = [BEHAVIOURS["faithful"].translate(text, order["source"], order["target"]) for text in heard.texts]
    return as_json({"translatedText": out if isinstance(order["q"], list) else out[0]})


def now_and_then(text: str) -> bool:
    """Return whether a text is one of the few attacked questions, chosen by hash.

    The examination, whose texts have numbers, is never attacked.
    """
    return not re.search(r"\d", text) and hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % 40 == 0


def translator(ill: Script, chosen: Callable[[str], bool] = now_and_then) -> Script:
    """Return a correct LibreTranslate service that answers the `chosen` questions with the faulty script `ill`."""

    def script(heard: Heard) -> Answer:
        if heard.method == "GET":
            return PROTOCOL_OF_KIND
        return ill(heard) if any(chosen(text) for text in heard.texts) else translated(heard)

    return script


# ---------------------------------------------------------------------------- jobs
@dataclass
class Office:
    """A worker with its own database."""

    context: WorkerContext

    def post(
        self, url: str, *, protocol: str = "libretranslate", secret: str | None = None,
        settings: Mapping[str, Any] | None = None, timeout_s: float = 5, **more: Any,
    ) -> Job:  # fmt: skip
        """Store a job directly, without the service's checks."""
        target = {
            "name": "a service",
            "kind": "translator",
            "protocol": protocol,
            "base_url": url,
            "settings": dict(settings if settings is not None else {"batch_maximum": 1}),
            "limits": {"concurrency": 8, "timeout_s": timeout_s},
        }
        asked = {
            "tenant": "default",
            "kind": "rating",
            "target_id": None,
            "target": target,
            "sealed_secret": None,
            "experiment": dump_method(RoundTrip("gender")),
            "request_digest": digest_of([target]),
            "seed": 7,
            "visibility": "private",
            "callback_url": None,
            "max_calls": 10_000,
            "deadline_s": 600,
            "expected": 120,
            "key_id": None,
            **more,
        }
        if secret is not None:
            asked["id"] = "job_" + hashlib.sha256(url.encode()).hexdigest()[:20]
            place = {"tenant": "default", "target": asked["id"], "field": "secret"}
            asked["sealed_secret"] = self.context.vault.seal(secret, **place)
        with self.context.database.write() as connection:
            return jobs.add(connection, NewJob(**asked))

    def run(self, job: Job) -> Job:
        """Run a job to its end."""
        run_job(job.id, self.context, "here")
        with self.context.database.read() as connection:
            found = jobs.find(connection, job.id, None)
        assert found is not None
        return found

    def rating(self, job: Job) -> dict[str, Any]:
        """Read a job's rating."""
        assert job.rating_id is not None, job.error
        with self.context.database.read() as connection:
            stored = ratings.find(connection, job.rating_id, job.tenant)
        assert stored is not None
        return dict(stored.document)

    def ledger(self, job: Job) -> list[StoredObservation]:
        """Read all observations of a job."""
        with self.context.database.read() as connection:
            return observations.page(connection, job.id, 0, 100_000)

    def counted(self, name: str, **labels: str) -> float:
        """Read one of the worker's metrics."""
        return self.context.meter.registry.get_sample_value(name, labels) or 0.0


def _office(database_url: str, directory: Path, allow: str) -> Office:
    settings = Settings(
        data_dir=directory,
        database_url=database_url,
        egress_allow=allow,
        call_attempts=2,
        backoff_s=0.01,
        backoff_cap_s=0.02,
        breaker_delay_s=1000,  # longer than every job's deadline, so that a failing target ends the job
    )
    return Office(WorkerContext(Database(database_url), Vault.from_settings(settings), settings))


# ---------------------------------------------------------------------------- fixtures
@dataclass(frozen=True)
class Tools:
    """Functions of this file as a fixture, because tests cannot import a conftest module."""

    raw: Any = raw
    as_json: Any = as_json
    said: Any = said
    endless: Any = endless
    silence: Any = silence
    translated: Any = translated
    translator: Any = translator
    now_and_then: Any = now_and_then
    spoken: bytes = PROTOCOL_OF_KIND
    public: str = PUBLIC
    private: str = PRIVATE


@pytest.fixture(scope="session")
def tools() -> Tools:
    """Return the functions from which tests build scripts of services."""
    return Tools()


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """The event loop of the services."""
    stage = Stage()
    yield stage
    stage.close()


@pytest.fixture
def villain(stage: Stage) -> Iterator[Callable[..., Villain]]:
    """Return a function that opens services, which are closed after the test."""
    yield from _opening(stage)


@pytest.fixture(scope="module")
def open_villain(stage: Stage) -> Iterator[Callable[..., Villain]]:
    """Return a function that opens services, which are closed after the module's last test."""
    yield from _opening(stage)


def _opening(stage: Stage) -> Iterator[Callable[..., Villain]]:
    opened: list[Villain] = []

    def open_one(
        script: Script, address: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None, port: int = 0
    ) -> Villain:
        one = Villain(script, address, port)
        stage.run(one.open(tls))
        opened.append(one)
        return one

    yield open_one
    for one in opened:
        stage.run(one.close())


@pytest.fixture(scope="module")
def open_office(_sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Office]]:
    """Return a function that opens workers with an allow-list, by default each with its own SQLite file."""
    opened: list[Office] = []

    def open_one(allow: str, database_url: str | None = None) -> Office:
        directory = tmp_path_factory.mktemp("office")
        shutil.copyfile(_sqlite_template, directory / "assay.db")
        opened.append(_office(database_url or f"sqlite:///{directory / 'assay.db'}", directory, allow))
        return opened[-1]

    yield open_one
    for office in opened:
        office.context.database.close()


@pytest.fixture
def office(open_office: Callable[..., Office]) -> Office:
    """A worker whose operator allows this machine."""
    return open_office("127.0.0.0/8")
