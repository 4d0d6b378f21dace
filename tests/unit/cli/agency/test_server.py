"""HTTP server: limits on connections and on requests that arrive slowly (rows 70 and 71 of docs/reliability.md).

Row 71 of docs/reliability.md: at c37b512 1,500 half-sent requests stayed open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from ipaddress import ip_network

import pytest
import uvicorn

from cli.agency.server import BoundedProtocol, Server, listening, server_config
from store.core.settings import Settings

pytestmark = pytest.mark.anyio


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def impatient(**limits):
    class Protocol(BoundedProtocol):
        patience_s, check_s = 0.3, 0.05

    for name, value in limits.items():
        setattr(Protocol, name, value)
    return uvicorn.Config(app, log_config=None, http=Protocol, lifespan="off")


@contextlib.asynccontextmanager
async def serving(config=None, **limits):
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(config or impatient(**limits), lambda: None)
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


def test_the_error_for_a_port_in_use_names_the_port_and_the_option_that_sets_another():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1 at port {port}: another program .* with --port"):
            listening(Settings(port=port))


async def test_complete_request_is_answered():
    async with serving() as address:
        assert b" 204 " in await answer_to(address, HEAD + b"x" * 10_000)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: loc", HEAD, HEAD + b"x" * 10])
async def test_the_connection_of_an_incomplete_request_is_closed(sent):
    # guards against eb55f1e, where 1,500 such requests stayed open
    async with serving() as address:
        assert await answer_to(address, sent) == b""


async def test_the_connection_of_a_header_sent_byte_by_byte_is_closed():
    async with serving() as address:
        assert await answer_to(address, b"GET / HTTP/1.1\r\nX: ", *[b"a"] * 40, pause_s=0.05) == b""


async def test_slow_body_above_the_minimum_rate_is_read():
    async with serving() as address:
        pieces = [b"x" * 1_000] * 10  # takes 0.6 s in all, longer than the time-out, but arrives at 16 kB/s
        assert b" 204 " in await answer_to(address, HEAD, *pieces, pause_s=0.06)


CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("chunk", "number", "answered"),
    [(b"x", 4_000, b" 204 "), (b"x", 40_000, b" 400 "), (b"x" * 1_000, 9_000, b" 204 ")],
    ids=["a few thousand small", "very many small", "many large"],
)
async def test_a_body_in_very_many_small_chunks_is_refused(chunk, number, answered):
    # guards against 5e4c266, where 1 MB in chunks of one byte blocked the event loop for 14 s
    body = b"%x\r\n%s\r\n" % (len(chunk), chunk) * number + b"0\r\n\r\n"
    async with serving() as address:
        assert answered in await answer_to(address, CHUNKED + body)


async def refuse_at_once(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def test_many_small_chunks_after_the_response_close_the_connection():
    config = server_config(refuse_at_once, [])
    config.lifespan = "off"
    async with serving(config) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(CHUNKED)
        assert b" 401 " in await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            writer.write(b"1\r\nx\r\n" * 40_000)
            await writer.drain()
            assert await asyncio.wait_for(reader.read(200), 10) == b""
        writer.close()


async def test_connections_beyond_the_maximum_number_are_closed():
    async with serving(max_connections=3, patience_s=60) as address:
        held = [await asyncio.open_connection(*address) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert await answer_to(address, b"") == b""
        held[0][1].close()
        await asyncio.sleep(0.05)
        assert b" 204 " in await answer_to(address, HEAD + b"x" * 10_000)
        for _, writer in held[1:]:
            writer.close()


async def show_caller(scope, receive, send):
    if scope["type"] != "http":
        return
    await receive()
    body = json.dumps([scope["client"][0], scope["scheme"]]).encode()
    length = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": body})


FORWARDED = b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\r\n"


@pytest.mark.parametrize(
    ("trusted", "seen"), [("127.0.0.1/32", ["192.0.2.7", "https"]), ("127.0.0.9/32", ["127.0.0.1", "http"])]
)
async def test_the_callers_address_is_read_from_the_header_only_behind_a_trusted_proxy(trusted, seen, monkeypatch):
    # guards against eb55f1e, where an environment variable of another program decided which proxies are trusted
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    async with serving(server_config(show_caller, [ip_network(trusted)])) as address:
        answer = await answer_to(address, FORWARDED, pause_s=0.2)
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == seen


@pytest.mark.parametrize(("trusted", "refused"), [((), True), ((ip_network("127.0.0.0/8"),), False)])
async def test_connections_of_a_peer_are_limited_unless_it_is_a_trusted_proxy(trusted, refused):
    # guards against eb55f1e, where a proxy on another machine had 200 connections for all of its callers
    async with serving(max_per_peer=2, patience_s=60, trusted=trusted) as address:
        held = [await asyncio.open_connection(*address) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert (await answer_to(address, HEAD + b"x" * 10_000, pause_s=0.1) == b"") is refused
        for _, writer in held:
            writer.close()
