"""Shared-memory shutdown flag for forked workers; unlike a lock or pipe, a killed child cannot corrupt it."""

from __future__ import annotations

import mmap


class LeavingFlag:
    """Flag that the parent sets and children read that were forked after its creation."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def set(self) -> None:
        """Set the flag: the worker shuts down."""
        self._shared[0] = 1

    def is_set(self) -> bool:
        """Whether the worker shuts down."""
        return self._shared[0] == 1
