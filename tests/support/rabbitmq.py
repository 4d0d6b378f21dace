"""A RabbitMQ server from Debian's package `rabbitmq-server`, on loopback, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kombu.connection import Connection

from store.core.child_processes import ending_with_this_process
from tests.support.redis import START_S, KillableServer, free_port

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The program itself: the wrapper of this name on the path runs it as the user `rabbitmq`, in that user's folders."""

NOT_INSTALLED = None if PROGRAM.exists() else "RabbitMQ is not installed (Debian: rabbitmq-server)"
"""Why no server can be started; None if one can."""

ERLANG = "+S 1 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1} -start_epmd false"
"""Options of Erlang: one scheduler that does not wait actively, because tests share two cores; loopback only."""


@dataclass
class RabbitServer(KillableServer):
    """A RabbitMQ server; what it had confirmed outlasts a restart."""

    directory: Path
    environment: dict[str, str]
    port: int
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def running(cls, options: str = "") -> Iterator[Self]:
        """Run a server in its own directory, with its own name service (epmd); `options` are arguments for Erlang."""
        if NOT_INSTALLED is not None:
            raise RuntimeError(NOT_INSTALLED)
        directory, port = Path(tempfile.mkdtemp(prefix="assay-rabbit-")), free_port()
        names = {"ERL_EPMD_PORT": str(free_port()), "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": str(directory)}
        server = cls(directory, {**os.environ, **names, **_settings(directory, port, options)}, port)
        epmd = subprocess.Popen(
            ["epmd"], env=server.environment, stderr=subprocess.DEVNULL, preexec_fn=ending_with_this_process()
        )
        try:
            while not _listens(int(names["ERL_EPMD_PORT"])):
                time.sleep(0.05)
            server.start()
            yield server
        finally:
            server.stop()
            epmd.kill()
            epmd.wait(START_S)
            shutil.rmtree(directory)

    @property
    def url(self) -> str:
        """Return the URL of this server."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> None:
        """Start the server, or start it again on the same port and with the same data, and wait until it answers."""
        with (self.directory / "output").open("ab") as output:
            self.process = subprocess.Popen(
                [PROGRAM],
                cwd=self.directory,
                env=self.environment,
                stdout=output,
                stderr=output,
                preexec_fn=ending_with_this_process(),
            )
        deadline = time.monotonic() + START_S
        while not self._answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"RabbitMQ did not start:\n{(self.directory / 'output').read_text()[-3000:]}")
            time.sleep(0.1)

    def queues(self) -> dict[str, str]:
        """Return the type of each queue, by name."""
        words = ["rabbitmqctl", "--quiet", "list_queues", "name", "type", "--no-table-headers"]
        done = subprocess.run(
            [PROGRAM.with_name(words[0]), *words[1:]], env=self.environment, capture_output=True, text=True, check=True
        )
        return dict(line.split("\t") for line in done.stdout.splitlines())

    def _answers(self) -> bool:
        with Connection(self.url, connect_timeout=5) as connection:  # type: ignore[no-untyped-call]
            try:
                connection.connect()
            except connection.connection_errors:
                return False
            return True


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _settings(directory: Path, port: int, options: str) -> dict[str, str]:
    (directory / "plugins").write_text("[].")
    return {
        "RUNNING_UNDER_SYSTEMD": "true",  # without a shell between this process and the server
        "RABBITMQ_NODENAME": f"assay-{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory),
        "RABBITMQ_PID_FILE": str(directory / "pid"),
        "RABBITMQ_CONF_ENV_FILE": str(directory / "none"),
        "RABBITMQ_CONFIG_FILE": str(directory / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"{ERLANG} {options}",
    }
