"""A translation service with a configurable behaviour and delay, which counts the questions that it gets."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter, defaultdict
from types import TracebackType
from typing import Any, Self

from demo.translators.behaviours import BEHAVIOURS

CODES = ("en", "es")
Question = tuple[str, str, str]
"""A question: text, source language, target language."""


class CountingTarget:
    """A LibreTranslate service at /NAME for every name, such as that of a job; it counts separately for each name.

    Parameters
    ----------
    delay_s : float
        Seconds per answer; may be changed at any time.
    behaviour : str
        One of `demo.translators.behaviours.BEHAVIOURS`.

    Attributes
    ----------
    counts : dict of str to Counter
        How often each question was asked, by name.
    most_at_once : Counter
        Maximum of concurrent calls, by name.
    secrets : dict of str to set
        Secrets received, by name; ``None`` stands for a call without a secret.
    """

    def __init__(self, delay_s: float = 0.0, behaviour: str = "faithful") -> None:
        self.delay_s = delay_s
        self.counts: defaultdict[str, Counter[Question]] = defaultdict(Counter)
        self.most_at_once: Counter[str] = Counter()
        self.secrets: defaultdict[str, set[str | None]] = defaultdict(set)
        self._at_once: Counter[str] = Counter()
        self._behaviour = BEHAVIOURS[behaviour]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="target", daemon=True)

    def __enter__(self) -> Self:
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024))
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def url(self, name: str) -> str:
        """Return the address of the service under a name, such as that of one job."""
        return f"http://127.0.0.1:{self.port}/{name}"

    def calls(self, name: str) -> int:
        """Return the number of questions asked under a name, repetitions included."""
        return self.counts[name].total()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = int(head.lower().partition("content-length:")[2].partition("\r\n")[0] or 0)
                body = await reader.readexactly(length)
                _, _, rest = head.partition(" /")
                name, _, action = rest.partition(" ")[0].partition("/")
                said = await self._translate(name, json.loads(body)) if action == "translate" else _languages()
                reply = json.dumps(said).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                    % (len(reply), reply)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _translate(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
        self.counts[name].update((text, asked["source"], asked["target"]) for text in texts)
        self.secrets[name].add(asked.get("api_key"))
        self._at_once[name] += 1
        self.most_at_once[name] = max(self.most_at_once[name], self._at_once[name])
        try:
            await asyncio.sleep(self.delay_s)
        finally:
            self._at_once[name] -= 1
        out = [self._behaviour.translate(text, asked["source"], asked["target"]) for text in texts]
        return {"translatedText": out if isinstance(asked["q"], list) else out[0]}

    async def _end(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _languages() -> list[dict[str, Any]]:
    return [{"code": code, "name": code, "targets": list(CODES)} for code in CODES]


def rating_request(url: str, seed: int, *, concurrency: int = 2, **more: Any) -> dict[str, Any]:
    """Return a request for a small rating of a service, with one text per call."""
    return {
        "target": {
            "name": "a service",
            "kind": "translator",
            "protocol": "libretranslate",
            "base_url": url,
            "settings": {"batch_maximum": 1},
            "limits": {"concurrency": concurrency, "timeout_s": 10},
        },
        "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"]},
        "seed": seed,
        **more,
    }
