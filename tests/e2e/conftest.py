"""Fixtures with real processes: an agency started from the command line, and services of known behaviour."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from demo.server import DemoServer
from tests.support.agency_process import Process


@pytest.fixture(scope="session")
def services() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(**environment: str) -> Process:
        data = tmp_path / f"agency-{len(started)}"
        data.mkdir()
        started.append(Process(data, **environment))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module")
def agencies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Process]]:
    """Start agencies that all tests of a module share."""
    started: list[Process] = []

    def start(**environment: str) -> Process:
        started.append(Process(tmp_path_factory.mktemp("agency"), **environment))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module")
def shared_agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    one = Process(tmp_path_factory.mktemp("agency"))
    yield one
    one.stop()


ELSEWHERE = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise OSError(f"a socket is used: {event} {arguments}")

sys.addaudithook(refuse)
from cli.main import main
sys.argv[0] = "assay"
main()
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `assay` with an empty environment and without permission to create a socket."""
    home = tmp_path / "elsewhere"
    home.mkdir()
    # the same linear algebra as in the agency: another kernel rounds otherwise
    kernels = {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}
    environment = {"HOME": str(home), "ASSAY_DATA_DIR": str(home / "none"), "PYTHONPATH": str(Path.cwd()), **kernels}

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert list(home.iterdir()) == [], "nothing is left behind"
        return done

    return run


@pytest.fixture
def counted():
    """Return the context manager below. It is a fixture, because tests do not import conftest modules."""
    return _counted


@contextmanager
def _counted(calls: list[str]) -> Iterator[str]:
    """Start a faithful LibreTranslate service that records every received text; yield its URL."""
    import asyncio
    import json
    import threading

    from demo.translators.behaviours import BEHAVIOURS

    faithful = BEHAVIOURS["faithful"]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next(
                    (
                        int(line.split(":")[1])
                        for line in head.split("\r\n")
                        if line.lower().startswith("content-length")
                    ),
                    0,
                )
                body = await reader.readexactly(length)
                if "/translate" in head.split("\r\n")[0]:
                    asked = json.loads(body)
                    texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
                    calls.extend(texts)
                    await asyncio.sleep(0.02)
                    out = [faithful.translate(text, asked["source"], asked["target"]) for text in texts]
                    said = {"translatedText": out if isinstance(asked["q"], list) else out[0]}
                else:
                    codes = ["en", "es", "fr"]
                    said = [{"code": code, "name": code, "targets": codes} for code in codes]
                reply = json.dumps(said).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(reply)
                    + reply
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:

        async def end() -> None:
            server.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
