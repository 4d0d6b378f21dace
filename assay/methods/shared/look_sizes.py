"""Sequential design: how much is asked before each look at the evidence, and what an early look may decide."""

from __future__ import annotations

from collections.abc import Iterator

EARLY = 0.25
"""Share of the permitted error that a look before the last may use: little evidence misleads more often than much."""


def look_sizes(first: int, most: int, stop_early: bool) -> Iterator[int]:
    """Return the size at each look: `first`, then twice that, and so on up to `most`; only `first` without looks."""
    size = first
    yield size
    while stop_early and size < most:
        size = min(size * 2, most)
        yield size
