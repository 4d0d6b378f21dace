"""`assay rate`: run one job with a temporary database in this process."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assay.document import Json
from assay.errors import SpecificationError, UnknownName
from cli.exits import Exit
from cli.gate import BEST_FIRST
from cli.logs import configure_logs
from cli.rating import ci_formats
from cli.rating.ci_formats import Verdict
from cli.rating.local_job import notes, run_here
from cli.request.rating_options import RatingOptions
from cli.request.request import networks, read_request
from cli.terminal import escape
from reports.formats import installed_formats, render, terminal
from reports.regulators import AUDIT_FILES, write_audit
from store.core.settings import Settings

FORMATS = ("text", "json", "markdown", *ci_formats.FORMATS)
"""Formats of standard output."""


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Output options of `assay rate`."""

    format: str = "text"
    """One of `FORMATS`, on standard output."""
    full: bool = False
    """Whether the format ``text`` has every table and example."""
    report: Path | None = None
    """File for an additional report; its suffix chooses the format."""
    export: Path | None = None
    """File for the rating with its evidence, unsigned, for `assay verify`."""
    at_least: str | None = None
    """Worst letter that passes; it decides the exit code. Without it, the rating's letter does."""
    summary: Path | None = None
    """File to which ``github`` appends the report in Markdown."""
    verbose: bool = False
    """Whether every exchange with the service is shown on standard error."""

    def check(self) -> None:
        """Raise `SpecificationError` for invalid options, before a rating that may take hours."""
        if self.format not in FORMATS:
            raise UnknownName("format", self.format, FORMATS, "format")
        if self.at_least is not None and self.at_least not in BEST_FIRST:
            raise UnknownName("letter", self.at_least, BEST_FIRST, "at-least")
        if self.report is not None:
            _writer(self.report)
        for purpose, file in (("report", self.report), ("export", self.export)):
            if file is not None and not file.parent.is_dir():
                raise SpecificationError(f"the folder {file.parent} of the {purpose} does not exist; create it first")


def rate_here(options: RatingOptions, settings: Settings, display: OutputOptions) -> Exit:
    """Rate a service, print the report, and return the exit code (`OutputOptions.at_least`)."""
    display.check()
    return rate_request(read_request(options), settings, display, options.file)


def rate_request(request: Json, settings: Settings, display: OutputOptions, file: Path | None = None) -> Exit:
    """Rate the service of a request, which came from a `file`, print the report, and return the exit code."""
    configure_logs(settings.model_copy(update={"log_level": "error"}))
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        allowed = ",".join(map(str, networks(settings)))
        overrides = {"data_dir": Path(folder), "database_url": None, "broker_url": None, "egress_allow": allowed}
        # validated anew, because `model_copy` would keep the parsed networks of the original
        local_settings = Settings(**(settings.model_dump() | overrides))
        job, rating, small = run_here(request, local_settings, verbose=display.verbose, export=display.export)
    if rating is None:
        error = job.error or {"title": "The job ended without a rating", "detail": job.status}
        if display.format in ci_formats.FORMATS:
            sys.stdout.write(ci_formats.of_failure(display.format, request["target"]["name"], error))
        notes.print(f"[bold]{escape(error['title'])}[/bold]: {escape(error['detail'])}", soft_wrap=True)
        return Exit.UNAVAILABLE
    document = rating.seen_by(rating.tenant).document
    _show(document, small, file, display, rating.document)
    if display.at_least is None:
        return Exit.of_rating(document["letter"], document["declared"])
    return Verdict.of(document, display.at_least).exit


def _show(
    document: Json,
    small: Mapping[str, str],
    file: Path | None,
    display: OutputOptions,
    public: Json,
) -> None:
    """Print a rating, and write the files that were asked for; those for regulators are of the `public` form."""
    if display.format == "text":
        columns = min(terminal.COLUMNS, shutil.get_terminal_size().columns)
        colour = sys.stdout.isatty()
        sys.stdout.write(terminal.render(document, colour=colour, columns=columns, brief=not display.full))
    elif display.format in ci_formats.FORMATS:
        bar = display.at_least or ci_formats.USUAL_BAR
        sys.stdout.write(ci_formats.of_rating(display.format, document, bar, file))
    else:
        sys.stdout.write(render(display.format, document))
    if display.format == "github" and display.summary is not None:
        with display.summary.open("a", encoding="utf-8") as summary:
            summary.write(render("markdown", document) + "\n")
    if display.report is not None:
        write = _writer(display.report)
        is_audit = isinstance(write, partial)
        report = write(public if is_audit else {**document, "thumbnails": small} if small else document)
        display.report.write_text(report, encoding="utf-8")
        notes.print(f"report written to {escape(str(display.report))}", soft_wrap=True)
    if display.export is not None:
        notes.print(f"export written to {escape(str(display.export))}, without a signature", soft_wrap=True)


def _writer(report: Path) -> Callable[[Json], str]:
    """Return the writer of a report; the end of the file's name says which: ``.html``, ``ll144.csv``."""
    for audit in AUDIT_FILES:
        if report.name.lower().endswith(audit.name):
            return partial(write_audit, audit.name)
    for form in (forms := installed_formats().values()):
        if form.suffix == report.suffix.lower():
            return form.render
    raise UnknownName("report format", report.suffix, [form.suffix for form in forms])
