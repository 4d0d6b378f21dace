"""`assay demo`: an agency and services of known bias on this machine, rated over the real API."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cli.client import Agency
from cli.exits import Exit
from demo.apertium import Apertium
from demo.behaviours import BEHAVIOURS
from demo.ills import ILLS
from demo.server import DemoServer

console = Console(highlight=False)

STYLES = {"UCS": "bold green", "DSBS": "bold yellow", "BS": "bold magenta"}
FINISHED = ("succeeded", "failed", "cancelled")

PUBLISHED_RULE = "chi-squared/similar-to-biased"
"""The paper's section 4.3 to the letter; it stands beside the headline to show where they differ."""

APERTIUM_LANGUAGES = ("es", "ca", "gl", "eo")


@dataclass
class Case:
    """One service in the demonstration: what it is, what should come of it, and how far it is.

    `expected` is a letter, ``"failed"``, ``"inconclusive"`` or ``"any"``; `reason` the code that the
    rating's reasons or the job's problem must then hold.
    """

    name: str
    sentence: str
    expected: str
    url: str
    protocol: str = "libretranslate"
    reason: str | None = None
    experiment: dict[str, Any] = field(default_factory=dict)
    job: dict[str, Any] = field(default_factory=dict)
    rating: dict[str, Any] | None = None
    report: str = ""

    @property
    def finished(self) -> bool:
        """Whether its job has ended."""
        return self.job.get("status") in FINISHED

    @property
    def as_expected(self) -> bool:
        """Whether it ended as its known behaviour says it should, and for that reason."""
        return self.expected in (self._end, "any") and (self.reason is None or self.reason in self._codes)

    @property
    def _end(self) -> str:
        if self.rating is None:
            return str(self.job.get("status"))
        return str(self.rating["letter"]) if self.rating["declared"] else "inconclusive"

    @property
    def _codes(self) -> set[str]:
        """Every reason given, by the rating, its components or the job's problem."""
        if self.rating is None:
            return {(self.job.get("error") or {}).get("code", "")}
        parts = [self.rating, *self.rating["components"]]
        return {reason["code"] for part in parts for reason in part["reasons"]}


def run_demo(*, keep: bool, reports: Path | None) -> Exit:
    """Rate every demonstration service and print the table; 0 if all ended as they should.

    Parameters
    ----------
    keep : bool
        Leave the agency and the services up until Ctrl-C.
    reports : Path, optional
        Where the html reports are written; a folder under the system's temporary one if left out.
    """
    folder = reports or Path(tempfile.mkdtemp(prefix="assay-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        services = stack.enter_context(DemoServer())
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-demo-data-")))
        console.print("Starting an agency and services whose bias is known, all on this machine …")
        agency = stack.enter_context(_agency(data))
        cases = [*_known(services), *_ill(services), *_real(stack)]
        started = time.monotonic()
        for case in cases:
            _post(agency, case)
        with Live(_table(cases), console=console, refresh_per_second=4) as live:
            while not all(case.finished for case in cases):
                for case in cases:
                    if not case.finished:
                        case.job = agency.get(f"/v1/jobs/{case.job['id']}")
                    if case.finished and case.rating is None and case.job["rating"]:
                        _fetch(agency, case, folder, keep=keep)
                live.update(_table(cases))
                time.sleep(0.25)
        _say_result(cases, time.monotonic() - started)
        if keep:
            console.print(f"The agency stays up at [bold]{agency.url}/docs[/bold]; end it with Ctrl-C.")
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
    return Exit.UCS if all(case.as_expected for case in cases) else Exit.SOFTWARE


def _known(services: DemoServer) -> Iterator[Case]:
    for one in BEHAVIOURS.values():
        yield Case(one.name, one.summary, one.letter or "any", services.url(one.name), reason=one.reason)


def _ill(services: DemoServer) -> Iterator[Case]:
    for one in ILLS.values():
        expected = one.letter if one.end == "rated" and one.letter else one.end
        yield Case(one.name, one.summary, expected, services.url(one.name), reason=one.problem)


def _real(stack: contextlib.ExitStack) -> Iterator[Case]:
    """Rate Apertium where it is installed; a real service, so nothing is expected of it."""
    if not Apertium.available():
        console.print("Apertium, a real translator, is not installed and so not rated. To add it:")
        console.print(f"  {Apertium.how_to_install}", soft_wrap=True)
        return
    apertium = stack.enter_context(Apertium())
    yield Case(
        "Apertium",
        "a real rule-based translator",
        "any",
        apertium.url,
        protocol="apertium",
        experiment={"languages": list(APERTIUM_LANGUAGES)},
    )


@contextlib.contextmanager
def _agency(data: Path) -> Iterator[Agency]:
    """Run `assay serve` in a process of its own, allowed to call this machine."""
    port = _free_port()
    arguments = ["serve", "--port", str(port), "--data-dir", str(data), "--egress-allow", "127.0.0.0/8"]
    log = data / "agency.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-m", "cli.main", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            agency = Agency(f"http://127.0.0.1:{port}")
            if not agency.wait_until_ready(60):
                raise OSError(f"the agency did not start; it said:\n{log.read_text(errors='replace')[-2000:]}")
            yield agency
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _post(agency: Agency, case: Case) -> None:
    request = {
        "target": {
            "name": case.name,
            "kind": "translator",
            "protocol": case.protocol,
            "base_url": case.url,
            "limits": {"concurrency": 8, "timeout_s": 3},
        },
        "experiment": {"method": "round-trip", "attribute": "gender", **case.experiment},
        "seed": 7,
        "deadline_s": 150,
    }
    case.job = agency.post("/v1/jobs", request)


def _fetch(agency: Agency, case: Case, folder: Path, *, keep: bool) -> None:
    """Read the rating and keep its report where it can still be opened afterwards."""
    rating_id = case.job["rating"]["id"]
    case.rating = agency.get(f"/v1/ratings/{rating_id}")
    path = folder / f"{case.name}.html"
    path.write_text(agency.text(f"/v1/ratings/{rating_id}/report.html"), encoding="utf-8")
    case.report = f"{agency.url}/v1/ratings/{rating_id}/report.html" if keep else path.as_uri()


def _table(cases: list[Case]) -> Table:
    title = "Ratings of services whose behaviour is known"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for heading in ("service", "rating", "BS", "DSBS", "UCS", "P5's rule", "calls", ""):
        in_words = heading in ("service", "rating", "P5's rule")
        table.add_column(heading, justify="left" if in_words else "right", no_wrap=True)
    for case in cases:
        table.add_row(case.name, *_result(case))
    table.caption = "BS, DSBS, UCS: probability of each letter. P5's rule: the paper's own."
    table.caption_justify = "left"
    return table


def _result(case: Case) -> tuple[Text | str, ...]:
    """Say how far a case is, or what came of it."""
    mark = Text("✓", "green") if case.as_expected else Text("✗", "red")
    if not case.finished:
        asked, expected = case.job.get("asked", 0), case.job.get("expected", 0)
        return (Text(f"{case.job.get('stage', 'queued')} {asked}/{expected}", "dim"),)
    if case.rating is None:
        return Text(str(case.job["status"])), "–", "–", "–", "–", "–", mark
    rating = case.rating
    said = rating["letter"] if rating["declared"] else "inconclusive"
    style = STYLES.get(rating["letter"] or "", "") if rating["declared"] else ""
    shares = rating["probabilities"]
    numbers = [f"{shares[letter]:.2f}" if shares else "–" for letter in ("BS", "DSBS", "UCS")]
    published = rating["published"].get(PUBLISHED_RULE) or "–"
    return Text(said, style), *numbers, published, str(rating["calls"]), mark


def _say_result(cases: list[Case], seconds: float) -> None:
    for case in cases:
        said = case.rating["reasons"][0]["text"] if case.rating else (case.job.get("error") or {}).get("detail", "")
        console.print(f"\n[bold]{case.name}[/bold]  {case.sentence}\n  {escape(said)}")
    console.print("\nReports:")
    for case in cases:
        if case.report:
            console.print(f"  {case.name:<22} {case.report}", soft_wrap=True)
    right = sum(case.as_expected for case in cases)
    console.print(f"\n{right} of {len(cases)} ended as their known behaviour says, in {seconds:.0f} s.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
