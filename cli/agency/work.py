"""`assay worker`: Celery's processes, a reconciler, a watchdog and metrics."""

import os
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import structlog

from cli.agency.tracing import start_tracing
from cli.logs import configure_logs
from cli.options import require_shared_key
from store.core.child_processes import end_with_parent
from store.core.data_folder import open_data_folder
from store.core.settings import Settings

log = structlog.get_logger()


def run_worker(settings: Settings) -> None:
    """Run a Celery worker, and a reconciler, which announces jobs that no worker has claimed, until told to stop."""
    configure_logs(settings)
    os.umask(0o077)  # files of the agency are only for its own user
    if not settings.broker_url:
        raise ValueError("a worker needs --broker-url (redis:// or amqp://…); `assay serve` alone has one built in")
    require_shared_key(settings)
    _require_temporary_folder()
    with tempfile.TemporaryDirectory(prefix="assay-numbers-") as folder:
        if settings.database_url and not _is_writable(settings.data_dir.expanduser()):
            # a worker keeps only temporary files in the data directory: copies of embeddings
            settings = settings.model_copy(update={"data_dir": Path(folder) / "data"})
        # prometheus_client reads this variable when it is first imported, and has no other setting for it
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # noqa: TID251
        _run_worker(settings, folder)


def _require_temporary_folder() -> None:
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise OSError(
            "no temporary file can be written, and a worker needs some for its metrics: mount a writable /tmp, or name "
            f"a writable directory in TMPDIR ({error.strerror})"
        ) from None


def _is_writable(folder: Path) -> bool:
    try:
        open_data_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _run_worker(settings: Settings, metrics_folder: str) -> None:
    """Run jobs in forked processes (children), and webhooks, signatures, the reconciler and a watchdog in threads."""
    from celery import signals

    from store.jobs.fair_order import Share
    from workers.engine.metrics_server import expose
    from workers.engine.reconciler import reconciling
    from workers.engine.tasks import add_tasks, make_celery, open_context
    from workers.engine.watchdog import MessageCounter, Watchdog, broker_answers
    from workers.engine.worker_context import LeavingFlag, import_job_libraries
    from workers.maintenance.signing_worker import SigningWorker
    from workers.webhooks.delivery_loop import WebhookWorker

    leaving = LeavingFlag()

    def on_shutdown(**_: object) -> None:
        leaving.set()

    def on_child_start(**_: object) -> None:
        end_with_parent()
        # started in each child, because the exporter's thread would not survive the fork
        start_tracing(settings, "worker")

    signals.worker_shutting_down.connect(on_shutdown)
    signals.worker_process_init.connect(on_child_start)
    app = make_celery(settings)
    # opened in each child, which runs one job at a time, so that none uses its parent's database connections
    add_tasks(app, cache(lambda: open_context(settings, leaving)))
    if settings.metrics_port is not None:
        expose(settings.metrics_host, settings.metrics_port, metrics_folder, settings.resolved_database_url)
    import_job_libraries()  # imported once before the fork, so that the children need not import
    context = open_context(settings)  # for the threads of this process
    watchdog = Watchdog(
        context.database,
        MessageCounter(),
        settings.watchdog_s,
        share=Share.of(settings),
        broker_answers=lambda: broker_answers(app),
        end_process=_end_unresponsive,
    )
    slots = settings.worker_concurrency  # jobs at a time
    with (
        closing(context.database),
        reconciling(settings, slots),
        WebhookWorker(context),
        SigningWorker(context),
        watchdog,
    ):
        isolation = ("--without-gossip", "--without-mingle")  # workers share the database, so they need no messages
        app.worker_main(["worker", "--pool=prefork", f"--concurrency={slots}", "--loglevel=WARNING", *isolation])


def _end_unresponsive() -> None:
    """Kill this process and its idle children, because a worker that receives no messages may also ignore signals."""
    import billiard

    from workers.engine.watchdog import EXIT_DEAF

    for child in billiard.active_children():
        child.terminate()
    os._exit(EXIT_DEAF)
