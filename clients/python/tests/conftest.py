"""A scripted server on loopback, and a fixture that runs the same code with both clients."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from assay_client import AsyncClient, Client


@dataclass(frozen=True)
class Said:
    """An answer of the server. A status of 0 closes the connection without an answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Heard:
    method: str
    path: str
    headers: Message
    body: bytes


class Scripted:
    """A server that sends its answers in order, repeats the last one, and records requests."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.answers: list[Said] = []
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                scripted.heard.append(Heard(self.command, self.path, self.headers, body))
                said = scripted.answers.pop(0) if len(scripted.answers) > 1 else scripted.answers[0]
                self.close_connection = True
                if not said.status:
                    return
                self.send_response(said.status)
                for name, value in {"Content-Type": "application/json", **said.headers}.items():
                    self.send_header(name, value)
                if said.status != 204:
                    self.send_header("Content-Length", str(len(said.content)))
                self.send_header("Connection", "close")
                self.end_headers()
                if said.status != 204:
                    self.wfile.write(said.content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def said() -> type[Said]:
    return Said


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    server = Scripted()
    yield server
    server.close()


@pytest.fixture(params=["waits", "awaited"])
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run `do` with a client and return its result; `pauses` collects the pauses, in seconds, instead of sleeping."""

    def waits(url: str, do: Callable[[Any], Any], pauses: list[float] | None = None, **more: Any) -> Any:
        slept = [] if pauses is None else pauses
        with Client(url, sleep=slept.append, **more) as client:
            result = do(client)
            return list(result) if inspect.isgenerator(result) else result

    def awaited(url: str, do: Callable[[Any], Any], pauses: list[float] | None = None, **more: Any) -> Any:
        slept = [] if pauses is None else pauses

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async def go() -> Any:
            async with AsyncClient(url, sleep=sleep, **more) as client:
                result = do(client)
                return [one async for one in result] if inspect.isasyncgen(result) else await result

        return asyncio.run(go())

    return waits if request.param == "waits" else awaited
