"""Connections of the HTTP server: their number, and requests that arrive slowly (reliability rows 70 and 71)."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest
import uvicorn

from cli.agency.server import BoundedProtocol, Server

pytestmark = pytest.mark.anyio


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@contextlib.asynccontextmanager
async def serving(**limits):
    class Protocol(BoundedProtocol):
        patience_s, check_s = 0.3, 0.05

    for name, value in limits.items():
        setattr(Protocol, name, value)
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(uvicorn.Config(app, log_config=None, http=Protocol, lifespan="off"), lambda: None)
    running = asyncio.create_task(server._serve(sockets=[listening]))
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        await running


async def answer_to(address, *parts, pause_s=0.0):
    reader, writer = await asyncio.open_connection(*address)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause_s)
        return await asyncio.wait_for(reader.read(200), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n"


async def test_complete_request_is_answered():
    async with serving() as address:
        assert b" 204 " in await answer_to(address, HEAD + b"x" * 10_000)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: loc", HEAD, HEAD + b"x" * 10])
async def test_a_request_that_stops_on_the_way_is_cut_off(sent):
    # guards against eb55f1e, where 1,500 such requests stayed open
    async with serving() as address:
        assert await answer_to(address, sent) == b""


async def test_header_sent_byte_by_byte_is_cut_off():
    async with serving() as address:
        assert await answer_to(address, b"GET / HTTP/1.1\r\nX: ", *[b"a"] * 40, pause_s=0.05) == b""


async def test_slow_body_above_the_minimum_rate_is_read():
    async with serving() as address:
        pieces = [b"x" * 1_000] * 10  # takes 0.6 s in all, longer than the time-out, but arrives at 16 kB/s
        assert b" 204 " in await answer_to(address, HEAD, *pieces, pause_s=0.06)


async def test_connections_beyond_the_maximum_are_closed():
    async with serving(max_connections=3, patience_s=60) as address:
        held = [await asyncio.open_connection(*address) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert await answer_to(address, b"") == b""
        held[0][1].close()
        await asyncio.sleep(0.05)
        assert b" 204 " in await answer_to(address, HEAD + b"x" * 10_000)
        for _, writer in held[1:]:
            writer.close()
