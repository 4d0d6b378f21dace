"""What jobs import when they first need it, imported by one of them while the others wait.

Libraries whose modules import each other in a circle can be seen half made by a second thread: Python
gives up a module's lock rather than wait for ever. On a machine without compiled bytecode, jobs
that began together failed by that.
"""

from __future__ import annotations

import threading
from functools import cache

_one_at_a_time = threading.Lock()


def import_first() -> None:
    """Import them, or wait until another thread has; the second time costs nothing."""
    with _one_at_a_time:
        _import()


@cache
def _import() -> None:
    """Read the occupations as well, so that forked children share what was read: 1.6 s of a processor."""
    import scipy.optimize
    import scipy.special  # noqa: F401

    from assay.catalog.labour import occupations

    for occupation in occupations():
        _ = occupation.indefinite
