"""Identifiers of rows: a prefix for the kind, then 26 characters that sort by creation time."""

from __future__ import annotations

import os
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O or U, so that an id can be read aloud."""
PAIRS = tuple(one + other for one in ALPHABET for other in ALPHABET)


def new_id(prefix: str) -> str:
    """Return a unique identifier that sorts by creation time.

    Parameters
    ----------
    prefix : str
        The kind of row: ``job``, ``rat``, ``tgt``, ``key``, ``evt``.

    Returns
    -------
    str
        ``prefix_`` and 26 characters: 48 bits of milliseconds, 80 bits of randomness.
        The milliseconds are this process's clock and only serve index locality; columns use the
        database's clock (`store.core.clock`).
    """
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    return f"{prefix}_" + "".join([PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])
