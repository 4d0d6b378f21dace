"""Concurrent calls for tests of races."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_concurrently(count: int, call: Callable[[int], T]) -> list[T]:
    """Call ``call(number)`` in `count` threads at the same moment; return the results in the order of the numbers."""
    barrier = threading.Barrier(count, timeout=30)

    def start(number: int) -> T:
        barrier.wait()
        return call(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))
