"""How the children of a worker hear that it shuts down: one byte of memory that all of them share.

A lock or a pipe could be left in a bad state by a child that was killed; a byte cannot.
"""

from __future__ import annotations

import mmap


class LeavingFlag:
    """Set once, in the parent; read by children that were forked after it was made."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def set(self) -> None:
        """Say that the worker shuts down."""
        self._shared[0] = 1

    def is_set(self) -> bool:
        """Whether the worker shuts down."""
        return self._shared[0] == 1
