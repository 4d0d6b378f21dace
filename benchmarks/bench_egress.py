"""Calls through the guarded egress against bare aiohttp: ``python -m benchmarks.bench_egress [CALLS]``.

Both post the same body to the same fast server on this machine, at 1, 16 and 64 calls at a time, in
turns, three times; the ratio of the best rates is printed. The egress resolves names, checks
addresses and limits the size of answers; the reference does not.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from ipaddress import ip_network

import aiohttp

from benchmarks.bench_pipe import target
from workers.egress import Egress

ROUNDS = 3
GOAL = 0.35
BODY = b'{"q": "The nurse said that she is here.", "source": "en", "target": "es"}'
HEADERS = {"Content-Type": "application/json"}

Call = Callable[[], Awaitable[object]]


async def rate(call: Call, calls: int, concurrency: int) -> float:
    """Measure calls per second."""
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            await call()

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    return calls / (time.perf_counter() - start)


async def compare(url: str, calls: int, concurrency: int) -> tuple[float, float]:
    """Measure both alternately; return the best rate of each."""
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        Egress((ip_network("127.0.0.0/8"),)) as egress,
    ):

        async def bare() -> None:
            async with session.post(url, data=BODY, headers=HEADERS) as answer:
                await answer.json()

        async def guarded() -> None:
            (await egress.send("POST", url, headers=HEADERS, content=BODY, timeout_s=30)).json()

        best = [0.0, 0.0]
        for place in (0, 1) * ROUNDS:
            call = (bare, guarded)[place]
            await rate(call, concurrency * 2, concurrency)  # opens the connections before the time is measured
            best[place] = max(best[place], await rate(call, calls, concurrency))
    return best[0], best[1]


def main() -> None:
    """Run the benchmark and print its numbers."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    with target(0) as port:
        for concurrency in (1, 16, 64):
            bare, ours = asyncio.run(compare(f"http://127.0.0.1:{port}/translate", calls, concurrency))
            print(
                f"egress, {concurrency} at a time: bare aiohttp {bare:.0f}/s, Assay {ours:.0f}/s, "
                f"ratio {ours / bare:.2f} (goal >= {GOAL})",
                flush=True,
            )


if __name__ == "__main__":
    main()
