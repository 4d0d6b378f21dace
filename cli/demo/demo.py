"""`assay demo`: an agency and services of known bias on this machine, rated over the real API."""

import contextlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live

from cli.demo.client import Agency
from cli.demo.demo_services import (
    Case,
    answerers,
    apertium,
    faulty_translators,
    image_classifiers,
    predictors,
    recorded,
    screeners,
    translators,
    unfit,
    writers,
)
from cli.demo.table import LEAST_WIDTH, print_results, table_of
from cli.exits import Exit
from demo.server import DemoServer
from demo.translators.apertium import Apertium
from store.core.child_processes import ending_with_this_process

console = Console(highlight=False)

KEPT_PORT = 8001
"""Port in the printed command that shows the results afterwards."""

POLL_S = 0.25
"""Seconds between two polls of the jobs."""


def run_demo(*, keep: bool, reports: Path | None) -> Exit:
    """Rate every demonstration service and print the table; return 0 if all results are as expected.

    With `keep`, the agency and the services run until Ctrl-C. `reports` is the folder for the HTML reports and the
    agency's data; by default, a new temporary folder.
    """
    if not console.is_terminal:
        console.width = max(console.width, LEAST_WIDTH)
    folder = reports or Path(tempfile.mkdtemp(prefix="assay-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        services = stack.enter_context(DemoServer())
        agency_folder = folder / "agency"
        agency_folder.mkdir(exist_ok=True)
        console.print("Starting an agency and services whose bias is known, all on this machine …")
        agency = stack.enter_context(_run_agency(agency_folder))
        cases = [
            *translators(services),
            *_real_translators(stack),
            *predictors(services),
            *image_classifiers(services),
            *screeners(services),
            *writers(services),
            *answerers(services),
            *recorded(agency.upload_table),
            *unfit(services),
            *faulty_translators(services),
        ]
        started_at = time.monotonic()
        for case in cases:
            case.job = agency.post("/v1/jobs", case.request)
        with Live(table_of(cases), console=console, refresh_per_second=4) as live:
            while not all(case.finished for case in cases):
                for case in cases:
                    if not case.finished:
                        case.job = agency.get(f"/v1/jobs/{case.job['id']}")
                    if case.finished and case.rating is None and case.job["rating"]:
                        _save_report(agency, case, folder, keep=keep)
                live.update(table_of(cases))
                time.sleep(POLL_S)
        print_results(console, cases, seconds=time.monotonic() - started_at)
        if keep:
            console.print(f"See all of it in a browser: [bold]{agency.url}/[/bold] (Ctrl-C ends it)")
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)  # until Ctrl-C
        else:
            program = sys.argv[0] if Path(sys.argv[0]).name == "assay" else "assay"
            command = f"{program} serve --data-dir {agency_folder} --port {KEPT_PORT}"
            console.print(
                f"See all of it in a browser: [bold]http://127.0.0.1:{KEPT_PORT}/[/bold] after", soft_wrap=True
            )
            console.print(f"  {command}", soft_wrap=True)
    return Exit.OK if all(case.as_expected for case in cases) else Exit.SOFTWARE


def _real_translators(stack: contextlib.ExitStack) -> Iterator[Case]:
    """Start Apertium, if it is installed, and yield its case: a real translator without an expected result."""
    if not Apertium.available():
        console.print("Apertium, a real translator, is not installed and so not rated. To add it:")
        console.print(f"  {Apertium.how_to_install}", soft_wrap=True)
        return
    yield apertium(stack.enter_context(Apertium()))


@contextlib.contextmanager
def _run_agency(agency_folder: Path) -> Iterator[Agency]:
    """Yield a client of `assay serve`, which runs in a child process and may call services on this machine."""
    port = _free_port()
    arguments = ["serve", "--port", str(port), "--data-dir", str(agency_folder), "--egress-allow", "127.0.0.0/8"]
    log_file = agency_folder / "agency.log"
    with log_file.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-m", "cli.main", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ending_with_this_process(signal.SIGTERM),  # noqa: PLW1509 - no lock is taken there
        )
        try:
            agency = Agency(f"http://127.0.0.1:{port}")
            if not agency.wait_until_ready(seconds=60):
                raise OSError(f"the agency did not start; it said:\n{log_file.read_text(errors='replace')[-2000:]}")
            yield agency
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _save_report(agency: Agency, case: Case, folder: Path, *, keep: bool) -> None:
    """Read the rating and save its report to a file, which remains after the demo."""
    rating_id = case.job["rating"]["id"]
    case.rating = agency.get(f"/v1/ratings/{rating_id}")
    path = folder / f"{case.name.replace(' ', '-')}.html"
    path.write_text(agency.text(f"/v1/ratings/{rating_id}/report.html"), encoding="utf-8")
    case.report = f"{agency.url}/v1/ratings/{rating_id}/report.html" if keep else path.as_uri()


def _free_port() -> int:
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        return int(free_socket.getsockname()[1])
