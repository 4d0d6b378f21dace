"""`assay` commands in processes that are forked from one process with all libraries imported.

A newly started process needs 2 s of processor time for its imports, and the tests start hundreds of processes. Parts of
SciPy are imported later, with the first rating.
"""

from __future__ import annotations

import atexit
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from store.core.child_processes import end_with_parent, ending_with_this_process

_forked = multiprocessing.get_context("forkserver")
_forked.set_forkserver_preload(
    [
        "tests.support.ends_with_parent",
        "cli.rating.rate",
        "cli.agency.serve",
        "cli.agency.work",
        "cli.agency.keys",
        "scipy.optimize",
    ]
)


class Command:
    """``assay <arguments>`` as a process of its own, in a session of its own; its methods are those of `Popen`.

    Parameters
    ----------
    arguments : sequence of str
        The arguments after ``assay``.
    environment : mapping
        All environment variables of the process.
    out, err : Path
        The files to which its output and its errors are appended.
    """

    def __init__(self, arguments: tuple[str, ...], environment: Mapping[str, str], out: Path, err: Path) -> None:
        self.args, self._lock = arguments, threading.Lock()
        self._process: subprocess.Popen[bytes] | multiprocessing.context.ForkServerProcess
        # plug-ins must be on the path when the libraries are imported, so the fork server cannot be used
        if "PYTHONPATH" in environment:
            program = [sys.executable, "-m", "cli.main", *arguments]
            with out.open("ab") as told, err.open("ab") as failed:
                self._process = subprocess.Popen(
                    program,
                    env=dict(environment),
                    stdout=told,
                    stderr=failed,
                    start_new_session=True,
                    preexec_fn=ending_with_this_process(),
                )
        else:
            self._process = _forked.Process(
                target=_run, args=(arguments, dict(environment), str(out), str(err)), daemon=True
            )
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or ``None`` while the process runs."""
        with self._lock:  # only one thread may collect the exit code of the process
            if isinstance(self._process, subprocess.Popen):
                return self._process.poll()
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process; return the exit code, which is negative after a signal."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            time.sleep(0.02)
        return code

    def terminate(self) -> None:
        """Ask the process to end (SIGTERM)."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill the process (SIGKILL)."""
        self._process.kill()


def run_command(
    *arguments: str, environment: Mapping[str, str], seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run ``assay`` with these arguments and environment variables, and wait for its end."""
    with tempfile.TemporaryDirectory(prefix="assay-command-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        command = Command(arguments, environment, out, err)
        try:
            code = command.wait(seconds)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
            raise
        return subprocess.CompletedProcess(arguments, code, out.read_text(), err.read_text())


def run_program(
    command: list[str], folder: Path, seconds: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of the documentation in a folder, with `assay` on the path and no ``ASSAY_…`` variables."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**inherited, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **environment},
    )


def _run(arguments: tuple[str, ...], environment: dict[str, str], out: str, err: str) -> None:
    end_with_parent()  # the fork server, which ends with the process of the tests
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    for place, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), place)
    sys.argv = ["assay", *arguments]
    from cli.main import main

    try:
        main()
    finally:
        atexit._run_exitfuncs()  # noqa: SLF001 - a child of multiprocessing leaves them out
