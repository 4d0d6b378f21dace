"""A real translator on this machine: Apertium's own HTTP server, on the loopback address only.

Apertium is rule-based, free software, packaged by Debian, and needs no network. Its server (APy)
always listens on all addresses. Therefore, a short script starts the server and replaces the socket that
it would open by our own, which is already bound to 127.0.0.1.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Self

HOST = "127.0.0.1"
PYTHON = Path("/usr/bin/python3")
PROGRAM = Path("/usr/bin/apertium-apy")
MODES = Path("/usr/share/apertium/modes")
LANGUAGE_NAMES = Path("/usr/share/apertium-apy/langNames.db")
"""Paths of Debian's Apertium packages; the server runs in Debian's Python, which has the server's libraries."""

PACKAGES = ("apertium-apy", "apertium-eng-spa", "apertium-eng-cat", "apertium-en-gl", "apertium-eo-en")

START_S, STOP_S = 30.0, 5.0
"""Seconds that the server may take to start and to stop."""

# Script for Debian's Python, not for this one. Its first argument is the descriptor of the inherited socket.
_ON_OUR_SOCKET = """
import socket, sys
from tornado.tcpserver import TCPServer

ours = socket.socket(fileno=int(sys.argv.pop(1)))
TCPServer.bind = lambda server, port, *address, **options: server.add_socket(ours)

from apertium_apy.apy import main
main()
"""


class ApertiumNotInstalled(RuntimeError):
    """Apertium's server is not on this machine."""


class ApertiumDidNotStart(RuntimeError):
    """Apertium's server ended, or did not answer."""


class Apertium:
    """Runs Apertium on a free port of 127.0.0.1 for as long as the ``with`` block lasts.

    `pairs` are the language pairs that it translates, in its own codes: ``("eng", "spa")``. On entry, raise
    `ApertiumNotInstalled`, with how to install it, or `ApertiumDidNotStart`, with its last output.
    """

    how_to_install = f"sudo apt-get install {' '.join(PACKAGES)}"

    def __init__(self) -> None:
        self.pairs: tuple[tuple[str, str], ...] = ()
        """The language pairs that it translates, in its own codes: ``("eng", "spa")``."""

    @staticmethod
    def available() -> bool:
        """Return whether the server and at least one language pair are installed."""
        return PYTHON.exists() and PROGRAM.exists() and any(MODES.glob("*.mode"))

    def __enter__(self) -> Self:
        if not self.available():
            raise ApertiumNotInstalled(f"no {PROGRAM} with language pairs; install it: {self.how_to_install}")
        with contextlib.ExitStack() as stack:
            self._error_log: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            with socket.create_server((HOST, 0)) as listening_socket:
                listening_socket.setblocking(False)
                self._port = listening_socket.getsockname()[1]
                self._process = self._start(listening_socket.fileno())
            stack.callback(self._stop)
            # The socket listens already: the request waits in its queue, and fails if the server's process ends.
            try:
                self.pairs = self._ask_pairs()
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._stop()  # stopped before its output is read, so that the output is complete
                raise ApertiumDidNotStart(f"Apertium did not start within {START_S} s: {self._last_line()}") from error
            self._resources = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    @property
    def url(self) -> str:
        """Base URL, without a final slash."""
        return f"http://{HOST}:{self._port}"

    def _start(self, descriptor: int) -> subprocess.Popen[bytes]:
        """Start the server in its own process group, because it starts a pipeline of processes for each pair."""
        arguments: list[str | Path] = [
            *(PYTHON, "-I", "-c", _ON_OUR_SOCKET, str(descriptor)),  # a program that serves on this socket
            *(MODES, "-l", LANGUAGE_NAMES),
        ]
        return subprocess.Popen(  # noqa: S603 - fixed paths, no input
            arguments,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._error_log,
            pass_fds=(descriptor,),
            start_new_session=True,
        )

    def _ask_pairs(self) -> tuple[tuple[str, str], ...]:
        connection = http.client.HTTPConnection(HOST, self._port, timeout=START_S)
        with contextlib.closing(connection):
            connection.request("GET", "/listPairs")
            pairs = json.load(connection.getresponse())["responseData"]
        return tuple((pair["sourceLanguage"], pair["targetLanguage"]) for pair in pairs)

    def _stop(self) -> None:
        """End the whole process group: SIGTERM, then SIGKILL."""
        for stop_signal in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)

    def _last_line(self) -> str:
        self._error_log.seek(0)
        lines = self._error_log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
