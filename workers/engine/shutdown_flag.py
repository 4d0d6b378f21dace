"""Shared-memory shutdown flag for forked workers; unlike a lock or pipe, a killed child cannot corrupt it."""

from __future__ import annotations

import mmap


class LeavingFlag:
    """Flag that a parent process sets; children that were forked after its creation can read it."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def set(self) -> None:
        """Set the flag: the worker is shutting down."""
        self._shared[0] = 1

    def is_set(self) -> bool:
        """Whether the worker is shutting down."""
        return self._shared[0] == 1
