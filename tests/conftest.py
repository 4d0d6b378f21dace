"""Fixtures for all tests: databases, Redis, RabbitMQ, and a guard that blocks all traffic beyond this machine.

Postgres and Redis come from wheels and run as processes of this session, in their own directories.
Each test gets an empty, migrated database: a copied file, or a copy of a template database.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from store.core import migrate
from store.core.child_processes import end_with_parent
from tests.support.postgres import PostgresServer
from tests.support.rabbitmq import NOT_INSTALLED, RabbitServer
from tests.support.redis import RedisServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options ``--chaos-scale`` and ``--soak-minutes``, which lengthen the chaos tests and the soak test."""
    parser.addoption(
        "--chaos-scale", choices=("short", "long", "night"), default="short", help="how much the chaos suite breaks"
    )
    parser.addoption("--soak-minutes", type=float, help="length of the soak test; by default as --chaos-scale says")


def pytest_configure(config: pytest.Config) -> None:
    """Restore Ctrl-C for child processes of a suite in the background; keep temporary files in memory."""
    if hasattr(config, "workerinput"):  # a process of pytest-xdist ends with the process that started it
        end_with_parent()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "TMPDIR" not in os.environ and _is_roomy(MEMORY):
        tempfile.tempdir = str(MEMORY)


settings.register_profile("assay", deadline=None)  # no test depends on how fast the machine is
settings.load_profile("assay")

MEMORY, ROOM = Path("/dev/shm"), 2 * 2**30


def _is_roomy(folder: Path) -> bool:
    """Return whether a folder has room for the suite's databases and may hold programs (Postgres may be copied there).

    The tests create hundreds of databases: on a disk, each costs a quarter of a second of processor time, and a wait.
    """
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC


HERE = Path(__file__).parent
LONGEST_FIRST = (
    "browser/test_whole_site.py",
    "chaos/test_faults.py",
    "fuzz/test_schemathesis.py",
    "chaos",
    "fuzz",
    "e2e",
    "browser",
    "hostile",
    "papers",
    "unit/assay/methods",
    "unit/workers",
)
"""Files and folders that take minutes. The first two run at the same time, because one of them mostly waits."""


SLOW = ("browser", "chaos", "e2e", "fuzz")
"""Folders of tests that start processes or open a browser; `make test` leaves them out, like those marked `slow`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that two workers end together (`--no-loadscope-reorder` keeps this order)."""

    def place(item: pytest.Item) -> int:
        names = (at for at, name in enumerate(LONGEST_FIRST) if item.path.is_relative_to(HERE / name))
        return next(names, len(LONGEST_FIRST))

    items.sort(key=place)
    for item in items:
        if any(item.path.is_relative_to(HERE / name) for name in SLOW):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection: each full collection would visit two million objects."""
    gc.collect()
    gc.freeze()


# ---------------------------------------------------------------------------- temporary files
@pytest.fixture(scope="session", autouse=True)
def _children_leave_nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set a folder for the temporary files of child processes, because a killed process does not remove its files.

    This process keeps its own folder, which Postgres may enter as another user.
    """
    tempfile.gettempdir()  # fills the cache of `tempfile` before the environment variable changes
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("children")))
        yield


# ---------------------------------------------------------------------------- no network beyond this machine
class OutsideNetwork(BaseException):
    """A test tried to reach another machine. It is no `Exception`, so that no retry or fallback swallows it."""


def _address(host: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address of a host that is written as a number; ``None`` for a name."""
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
    """Wrapper of the socket module that refuses and records every attempt to reach another machine."""

    attempts: list[str]

    def refuse(self, what: str) -> None:
        """Record an attempt, and raise `OutsideNetwork`."""
        self.attempts.append(what)
        raise OutsideNetwork(f"{what}: tests reach nothing but this machine")

    def sending(self, name: str, address_of: Callable[..., Any]) -> Callable[..., Any]:
        """Return the socket method `name` with a guard; `address_of` picks the address from the method's arguments."""
        original = getattr(socket.socket, name)

        def guarded(one: socket.socket, *args: Any) -> Any:
            address = address_of(*args) if one.family in {socket.AF_INET, socket.AF_INET6} else None
            if address is not None and not _is_this_machine(address[0]):
                self.refuse(f"socket.{name}({address!r})")
            return original(one, *args)

        return guarded

    def resolving(self, name: str) -> Callable[..., Any]:
        """Return the socket function `name` with a guard: it resolves numeric addresses and names of this machine."""
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
"""For each method that sends: a function that picks the address from its arguments."""

LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")


@pytest.fixture(scope="session")
def outside_attempts() -> list[str]:
    """Blocked attempts to connect to other machines."""
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
    """Fail a test that tried to reach another machine, even if a thread or a task swallowed the refusal."""
    yield
    tried = outside_attempts.copy()
    outside_attempts.clear()
    assert not tried, f"tried to reach another machine: {', '.join(tried)}"


# ---------------------------------------------------------------------------- databases
@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A directory whose path is short enough for a Unix socket; it is removed after the test."""
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


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A running Postgres with a migrated template database."""
    with PostgresServer.running() as server:
        server.execute("CREATE DATABASE template")
        migrate.upgrade(server.url("template"))
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A migrated Postgres database of this test's own."""
    name = f"test_{time.monotonic_ns()}"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE template STRATEGY FILE_COPY")
    yield postgres_server.url(name)
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated database of this test's own; the test runs once with SQLite and once with Postgres."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


# ---------------------------------------------------------------------------- Redis
@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A running Redis."""
    with RedisServer.running() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty Redis."""
    if redis_server.process is None:
        redis_server.start()
    redis_server.flush()
    return redis_server.url


# ---------------------------------------------------------------------------- RabbitMQ
@pytest.fixture(scope="module")
def rabbit() -> Iterator[RabbitServer]:
    """A running RabbitMQ."""
    if NOT_INSTALLED is not None:
        pytest.skip(NOT_INSTALLED)
    with RabbitServer.running() as server:
        yield server
