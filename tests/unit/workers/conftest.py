"""Small services on the loopback address that record their requests and answer as configured."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

LOOPBACK = (ip_network("127.0.0.0/8"),)


@dataclass(frozen=True)
class Heard:
    """Request received over a socket."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode(), keep_blank_values=True).items()}


Answer = bytes | Callable[[Heard, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Service:
    """Service with its address and its received requests."""

    port: int = 0
    scheme: str = "http"
    heard: list[Heard] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


def raw(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a complete response; an underscore in a header's name stands for a hyphen."""
    content = body.encode() if isinstance(body, str) else body
    lines = {"content-length": str(len(content)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


def as_json(value: Any, status: str = "200 OK", **headers: str) -> bytes:
    """Return a complete JSON response."""
    return raw(json.dumps(value), status, content_type="application/json", **headers)


async def read_request(reader: asyncio.StreamReader, connection: int) -> Heard | None:
    """Read one request, or ``None`` at the end of the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, target, _ = first.split(" ")
    return Heard(method, target, headers, body, connection)


@asynccontextmanager
async def listening(
    answer: Callable[[Heard], Answer], *, tls: Any = None, after: Callable[[Heard], bool] = lambda heard: True
) -> AsyncIterator[Service]:
    """Serve `answer`; the connection stays open after a response if `after` returns true for its request."""
    service = Service(scheme="https" if tls else "http")
    connections = 0
    talking: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        number = connections
        me = asyncio.current_task()
        assert me is not None
        talking.add(me)
        try:
            while (heard := await read_request(reader, number)) is not None:
                service.heard.append(heard)
                said = answer(heard)
                if isinstance(said, bytes):
                    writer.write(said)
                    await writer.drain()
                else:
                    await said(heard, writer)
                if not after(heard):
                    break
        except (ConnectionError, asyncio.CancelledError):  # the test ended, or the client disconnected
            pass
        finally:
            talking.discard(me)
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    service.port = server.sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        server.close()
        for each in list(talking):
            each.cancel()
        await asyncio.gather(*talking, return_exceptions=True)


@dataclass(frozen=True)
class Wire:
    """Functions of this file, which tests get as a fixture."""

    listening: Any = listening
    raw: Any = raw
    as_json: Any = as_json
    loopback: Any = LOOPBACK


@pytest.fixture
def wire() -> Wire:
    """Services on the loopback address."""
    return Wire()
