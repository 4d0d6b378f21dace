"""A process that is started again whenever it ends, as a container's restart policy does."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.support.commands import Command

PAUSE_S = 0.2
STOP_S = 30


class Supervised:
    """``assay <command>`` in its own session, with the given settings and no others.

    Parameters
    ----------
    name : str
        Name of the log file, shown in messages.
    command : sequence of str
        The arguments after ``assay``.
    environment : mapping
        The ``ASSAY_…`` variables of the process.
    folder : Path
        Folder of the log file.
    """

    def __init__(self, name: str, command: tuple[str, ...], environment: Mapping[str, str], folder: Path) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        self.exits: list[int] = []
        self._command = command
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ASSAY_")}
        self._environment = {**clean, **environment}
        self._wanted, self._lock = True, threading.Lock()
        self.process = self._start()
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {name}", daemon=True)
        self._keeper.start()

    def kill(self) -> None:
        """Kill the process with all its children, as the loss of a machine would."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end in an orderly way (SIGTERM); it is started again afterwards."""
        with self._lock:
            self.process.terminate()

    def restart_with(self, environment: Mapping[str, str]) -> None:
        """Ask the process to end in an orderly way; it is started again with these variables changed."""
        self._environment = {**self._environment, **environment}
        self.terminate()

    def freeze(self) -> None:
        """Suspend the process and its children (SIGSTOP)."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        self._signal(signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        """Return the child processes: a worker's pool."""
        try:
            return psutil.Process(self.process.pid).children()
        except psutil.NoSuchProcess:
            return []

    def close(self) -> None:
        """End the process for good: in an orderly way, or by force if that takes too long."""
        self._wanted = False
        with self._lock:
            process = self.process
        self._signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            process.wait(STOP_S)
        self._keeper.join(STOP_S)

    def hold(self) -> None:
        """Kill the process, and do not start it again until `release`."""
        self._wanted = False
        self.kill()
        self.process.wait(STOP_S)
        self._keeper.join(STOP_S)

    def release(self) -> None:
        """Start the process again after `hold`."""
        self._wanted = True
        self.process = self._start()
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {self.name}", daemon=True)
        self._keeper.start()

    def _start(self) -> Command:
        return Command(self._command, self._environment, self.log, self.log)

    def _signal(self, which: signal.Signals) -> None:
        with self._lock:
            try:
                os.killpg(self.process.pid, which)
            except ProcessLookupError:
                return

    def _keep(self) -> None:
        while True:
            code = self.process.wait()
            self.exits.append(code)
            time.sleep(PAUSE_S)
            if not self._wanted:
                return
            with self._lock:
                self.process = self._start()
