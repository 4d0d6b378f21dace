"""Cheap load generator: raw keep-alive connections, one request at a time on each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator


async def hammer(port: int, requests: Iterator[bytes], connections: int, expect: bytes) -> tuple[float, list[float]]:
    """Send every request and read its answer.

    Parameters
    ----------
    port : int
        Port of a server on this machine.
    requests : iterator of bytes
        Whole HTTP/1.1 requests; connections take the next one when they are free.
    connections : int
        Number of open connections.
    expect : bytes
        Required beginning of each answer, such as ``b"HTTP/1.1 200"``.

    Returns
    -------
    (float, list of float)
        Seconds for all requests, without connecting, and the seconds of each request.
    """
    opened = [await asyncio.open_connection("127.0.0.1", port, limit=2**20) for _ in range(connections)]
    each: list[float] = []

    async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for request in requests:
            start = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(expect):
                raise SystemExit(f"expected {expect!r}, the server answered {head[:200]!r}")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            each.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(work(*one) for one in opened))
    seconds = time.perf_counter() - start
    for _, writer in opened:
        writer.close()
    return seconds, each


def get(path: str) -> bytes:
    """Write a GET request."""
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    """Write a POST request."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    return head.encode() + body
