"""A fast service for benchmarks, a translator: raw asyncio, one reply after a fixed time.

``python -m benchmarks.target DELAY_MS`` prints its port and serves until its input closes.
"""

import asyncio
import json
import sys
from typing import cast

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")


class Translator(asyncio.Protocol):
    """Translator on keep-alive connections, one request at a time."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s, self._received = delay_s, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if len(self._received) < end + 4 + length:
                return
            body, self._received = self._received[end + 4 : end + 4 + length], self._received[end + 4 + length :]
            reply = self._answer(body)
            asyncio.get_running_loop().call_later(self._delay_s, self._transport.write, reply)

    def _answer(self, body: bytes) -> bytes:
        asked = json.loads(body) if body else None
        text = asked and {"translatedText": asked["q"].translate(BACK if asked["target"] == "en" else THERE)}
        written = json.dumps(text or {}).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
            len(written),
            written,
        )


async def main() -> None:
    delay_s, loop = float(sys.argv[1]) / 1000, asyncio.get_running_loop()
    server = await loop.create_server(lambda: Translator(delay_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
