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
    """``assay <command>`` in a session of its own, with the settings it is given and no others.

    Parameters
    ----------
    name : str
        For its log and for people.
    command : sequence of str
        What follows ``assay``.
    environment : mapping
        Its ``ASSAY_…`` variables.
    folder : Path
        Where its log is kept.
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
        """Kill it with all its children, as a lost machine would."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end in order; it is started again afterwards."""
        with self._lock:
            self.process.terminate()

    def restart_with(self, environment: Mapping[str, str]) -> None:
        """Ask it to end in order; it is started again with these variables changed."""
        self._environment = {**self._environment, **environment}
        self.terminate()

    def freeze(self) -> None:
        """Stop it and its children without their noticing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        self._signal(signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        """List its child processes: a worker's pool."""
        try:
            return psutil.Process(self.process.pid).children()
        except psutil.NoSuchProcess:
            return []

    def close(self) -> None:
        """End it for good: in order, or else by force."""
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
        """Kill it and do not start it again until `release`."""
        self._wanted = False
        self.kill()
        self.process.wait(STOP_S)
        self._keeper.join(STOP_S)

    def release(self) -> None:
        """Start it again after `hold`."""
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
