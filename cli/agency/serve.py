"""`assay serve`: the API and, without a broker, a worker in the same process."""

import contextlib
import fcntl
import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry
from rich.console import Console

from cli.agency.server import Server, listening, server_config
from cli.agency.sign_in import open_provider
from cli.agency.tracing import start_tracing
from cli.logs import configure_logs
from cli.options import require_shared_key
from service.app import create_app
from store.core import migrate
from store.core.data_folder import open_data_folder, write_private
from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.security import keys
from web.agents.endpoint import add_agents
from web.site import add_pages
from workers.engine.embedded import EmbeddedWorker
from workers.engine.reconciler import reconciling
from workers.engine.tasks import JobNotifier, make_celery, open_context
from workers.targets.registry import TargetChecker

GARBAGE_THRESHOLD = 20_000
"""Number of new objects after which the garbage collector looks for cycles; few objects outlive a request."""

FIRST_KEY = "first-admin-key"
"""File in the data directory with the first administrator's key, readable by its owner only."""

log = structlog.get_logger()
console = Console(stderr=True, highlight=False)


def serve_api(settings: Settings) -> None:
    """Serve the API until interrupted; without a broker, with a worker in this process."""
    configure_logs(settings)
    # SIGTERM, which stops a container, is handled like Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.umask(0o077)  # files of the agency are only for its own user
    if settings.broker_url:
        require_shared_key(settings)
        with reconciling(settings) as notifier:  # announces jobs to workers, also those that none has claimed
            _serve(settings, notifier)
        return
    with _lock_data_folder(settings):
        if (write_error := migrate.upgrade_if_writable(settings.resolved_database_url)) is not None:
            console.print(
                f"The database cannot be written ({write_error}): reading is served, and new work is refused with 503 "
                "until it can be."
            )
        context = open_context(settings)
        embedded_worker = EmbeddedWorker(make_celery(settings), context, concurrency=settings.worker_concurrency)
        embedded_worker.start()
        try:
            _serve(settings, embedded_worker.notifier, context.meter.registry)
        finally:
            embedded_worker.close()
            context.database.close()


def migrate_database(settings: Settings) -> None:
    """Migrate the database to this version's schema and print a line."""
    migrate.upgrade(settings.resolved_database_url)
    console.print("The database is at this version's schema.")


def _serve(settings: Settings, notifier: JobNotifier, *more_registries: CollectorRegistry) -> None:
    """Serve the API, agents' tools and the pages until interrupted; `more_registries` hold a worker's metrics."""
    _create_first_key(settings)
    app = create_app(
        settings,
        validator=TargetChecker(settings),
        doorbell=notifier,  # tells workers of new jobs
        tracer_provider=start_tracing(settings, "api"),
        more_registries=more_registries,
    )
    add_agents(app)
    add_pages(app, open_provider(settings, app.state.service.vault))
    _freeze_garbage_collection()
    server = Server(server_config(app, settings.proxy_networks), on_stop=app.state.service.event_stream.stop_waiting)
    # bound here: if the port is taken, uvicorn itself would exit with a code that `assay` uses for a letter
    with listening(settings) as listening_socket, contextlib.suppress(KeyboardInterrupt):
        host = f"[{settings.host}]" if ":" in settings.host else settings.host  # IPv6 has brackets in a URL
        port = listening_socket.getsockname()[1]
        console.print(f"Assay listens on http://{host}:{port} — open it in a browser (API: /docs)")
        server.run(sockets=[listening_socket])
    if not server.started:
        raise RuntimeError("the service did not start; see the log for the reason")


def _freeze_garbage_collection() -> None:
    """Exclude long-lived objects from garbage collection, which took a third of the time with 1,000 polling clients.

    Garbage from the imports is less than a megabyte; collecting it first would delay the start by 0.15 s.
    """
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, *gc.get_threshold()[1:])  # older generations keep their thresholds


def _create_first_key(settings: Settings) -> None:
    """Create the first administrator's key, if keys are required and none exists, and write it to a private file.

    It is not printed, because standard error is often a log that many people can read.
    """
    if not settings.keys_required:
        return
    with contextlib.closing(Database(settings.resolved_database_url)) as database:
        with database.read() as connection:
            if keys.page(connection, tenant=None):  # keys of any tenant
                return
        file = settings.data_dir.expanduser() / FIRST_KEY
        try:
            with database.write() as connection:
                if keys.page(connection, tenant=None):  # another process created a key first
                    return
                _, plain_key = keys.create(connection, tenant="default", scopes=["admin"], name="first administrator")
                write_private(file, f"{plain_key}\n")  # within the transaction: no key is created that nobody can read
        except (StoreUnavailable, OSError) as error:
            console.print(
                f"There is no API key, and none could be made ({error}). "
                "Make one: assay keys create --name administrator --scope admin",
                soft_wrap=True,
            )
            return
    console.print(f"The first administrator's key is in {file}; read it, then remove the file.", soft_wrap=True)


@contextlib.contextmanager
def _lock_data_folder(settings: Settings) -> Iterator[None]:
    """Lock the data directory until the block or the process ends; raise `ValueError` if another process has it."""
    folder = Path(settings.data_dir)
    open_data_folder(folder)
    lock = _open_lock(folder)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another `assay serve` uses {folder}; stop it, or set another --data-dir") from None
        yield
    finally:
        os.close(lock)


def _open_lock(folder: Path) -> int:
    """Open the lock file (create it if it can be created), or else the folder itself; return the file descriptor."""
    file = folder / "assay.lock"
    for path, flags in ((file, os.O_RDWR | os.O_CREAT), (file, os.O_RDONLY)):
        with contextlib.suppress(OSError):
            return os.open(path, flags, 0o644)
    return os.open(folder, os.O_RDONLY)
