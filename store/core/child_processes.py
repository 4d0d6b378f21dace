"""Child processes that end when their parent process does, even if the parent was killed.

The kernel sends a signal to the child, on Linux only. Elsewhere the functions of this module do nothing, and a child
may outlive a killed parent.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1
_prctl: Callable[..., Any] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def end_with_parent(end_signal: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send this process a signal when the thread that started it ends (on Linux only)."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(end_signal), 0, 0, 0)


def ending_with_this_process(end_signal: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """Return a ``preexec_fn`` for `subprocess`; on Linux, the child gets `end_signal` when the calling thread ends."""
    parent_id = os.getpid()

    def prepare_child() -> None:
        end_with_parent(end_signal)
        if os.getppid() != parent_id:  # the parent had ended before the kernel was asked to watch it
            os._exit(1)

    return prepare_child
