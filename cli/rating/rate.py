"""`assay rate`: run one job with a temporary database in this process, and print its rating.

Formats for continuous integration (JUnit XML, SARIF 2.1.0, annotations of GitHub Actions) compare the rating, and each
of its parts, with the worst letter that is accepted (`--at-least`).
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import quote
from xml.etree import ElementTree as ET

import assay
from assay.document import Json
from assay.errors import SpecificationError, UnknownName
from cli.exits import Exit
from cli.gate import BEST_FIRST
from cli.logs import configure_logs
from cli.rating.local_job import notes, run_here
from cli.request.rating_options import RatingOptions
from cli.request.request import networks, read_request
from cli.terminal import escape
from reports.formats import installed_formats, render, terminal
from reports.plain import escape_hidden, visible
from reports.reading import in_words
from reports.regulators import AUDIT_FILES, write_audit
from store.core.settings import Settings


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
            _report_writer(self.report)
        for purpose, file in (("report", self.report), ("export", self.export)):
            if file is not None and not file.parent.is_dir():
                raise SpecificationError(f"the folder {file.parent} of the {purpose} does not exist; create it first")
            if file is not None and file.is_dir():
                raise SpecificationError(f"{file} is a folder; name a file for the {purpose}")


def rate_here(options: RatingOptions, settings: Settings, display: OutputOptions) -> Exit:
    """Rate a service, print the report, and return the exit code: for its letter or, with `at_least`, pass or fail."""
    display.check()
    return rate_request(read_request(options), settings, display, options.file)


def rate_request(request: Json, settings: Settings, display: OutputOptions, request_file: Path | None = None) -> Exit:
    """Rate the service of a request (from `request_file`, if given), print the report, and return the exit code."""
    configure_logs(settings.model_copy(update={"log_level": "error"}))
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        egress_allow = ",".join(map(str, networks(settings)))
        overrides = {"data_dir": Path(folder), "database_url": None, "broker_url": None, "egress_allow": egress_allow}
        # validated anew, because `model_copy` would keep the parsed networks of the original
        local_settings = Settings(**(settings.model_dump() | overrides))
        job, rating, thumbnails = run_here(request, local_settings, verbose=display.verbose, export=display.export)
    if rating is None:
        error = job.error or {"title": "The job ended without a rating", "detail": job.status}
        if display.format in CI_FORMATS:
            sys.stdout.write(of_failure(display.format, request["target"]["name"], error))
        notes.print(f"[bold]{escape(error['title'])}[/bold]: {escape(error['detail'])}", soft_wrap=True)
        return Exit.UNAVAILABLE
    document = rating.seen_by(rating.tenant).document  # its owner sees all counts
    _print_rating(document, thumbnails, request_file, display, public=rating.document)
    if display.at_least is None:
        return Exit.of_rating(document["letter"], declared=document["declared"])
    return Verdict.of(document, display.at_least).exit


def _print_rating(
    document: Json, thumbnails: Mapping[str, str], request_file: Path | None, display: OutputOptions, public: Json
) -> None:
    """Print a rating, and write the requested files; files for regulators are made from `public` (masked counts)."""
    if display.format == "text":
        columns = min(terminal.COLUMNS, shutil.get_terminal_size().columns)
        sys.stdout.write(terminal.render(document, colour=sys.stdout.isatty(), columns=columns, brief=not display.full))
    elif display.format in CI_FORMATS:
        sys.stdout.write(of_rating(display.format, document, display.at_least or USUAL_BAR, request_file))
    else:
        sys.stdout.write(render(display.format, document))
    if display.format == "github" and display.summary is not None:
        with display.summary.open("a", encoding="utf-8") as summary:
            summary.write(render("markdown", document) + "\n")
    if display.report is not None:
        write, is_for_regulators = _report_writer(display.report)
        document_with_pictures = {**document, "thumbnails": thumbnails} if thumbnails else document
        display.report.write_text(write(public if is_for_regulators else document_with_pictures), encoding="utf-8")
        notes.print(f"report written to {escape(str(display.report))}", soft_wrap=True)
    if display.export is not None:  # `run_here` has written it
        notes.print(f"export written to {escape(str(display.export))}, without a signature", soft_wrap=True)


def _report_writer(report: Path) -> tuple[Callable[[Json], str], bool]:
    """Return the writer for the ending of a report's name, such as ``.html``, and whether it is for regulators."""
    for audit in AUDIT_FILES:
        if report.name.lower().endswith(audit.name):
            return partial(write_audit, audit.name), True
    for report_format in (report_formats := installed_formats().values()):
        if report_format.suffix == report.suffix.lower():
            return report_format.render, False
    raise UnknownName("report format", report.suffix, [report_format.suffix for report_format in report_formats])


USUAL_BAR = "DSBS"
"""Worst accepted letter without ``--at-least``, the same as for `assay gate`."""

ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
"""Characters that must be escaped in a workflow command of GitHub Actions."""


@dataclass(frozen=True)
class Verdict:
    """Result of comparing a rating, or a part of it, with the worst letter that is accepted."""

    exit: Exit
    """0 if it passes; 1 if its letter is worse than accepted; 3 if inconclusive, whatever its likeliest letter."""
    name: str
    """Name of the part, or of the service for the whole rating."""
    message: str
    """Reason, in a sentence."""

    @classmethod
    def of(cls, document: Json, worst_accepted: str, name: str | None = None) -> Self:
        """Judge a rating document, or a component of it that is called `name`."""
        letter, title = document["letter"], visible(name or document["target"]["name"])
        if letter is None:
            return cls(Exit.INCONCLUSIVE, title, "Nothing could be measured.")
        if not document["declared"]:
            return cls(Exit.INCONCLUSIVE, title, f"Inconclusive, leaning to {letter}.")
        passed = BEST_FIRST.index(letter) <= BEST_FIRST.index(worst_accepted)
        message = f"{letter}, {'at least' if passed else 'below'} {worst_accepted}."
        return cls(Exit.OK if passed else Exit.BELOW, title, message)


def of_rating(format_name: str, document: Json, worst_accepted: str, file: Path | None) -> str:
    """Write a rating in a format for continuous integration; `file` is the request file, which annotations name."""
    overall = Verdict.of(document, worst_accepted)
    subject = visible(f"{document['attribute']} bias by {document['method']}")
    summary = visible(" ".join([overall.message, *in_words(document)]))
    parts = [Verdict.of(component, worst_accepted, str(component["name"])) for component in document["components"]]
    verdicts = [("the whole", replace(overall, message=summary)), *((f"part {part.name}", part) for part in parts)]
    return CI_FORMATS[format_name](_JudgedRating(overall.name, subject, file, verdicts))


def of_failure(format_name: str, target: str, error: Json) -> str:
    """Write the failure of a rating in a format for continuous integration; `error` is the problem of its job."""
    name, message = visible(target), visible(f"{error['title']}: {error['detail']}")
    verdicts = [("the whole", Verdict(Exit.UNAVAILABLE, name, message))]
    return CI_FORMATS[format_name](_JudgedRating(name, "rating", file=None, verdicts=verdicts))


@dataclass(frozen=True)
class _JudgedRating:
    """Verdicts on a rating and its parts, from which a format for continuous integration is written."""

    name: str
    subject: str
    file: Path | None
    verdicts: Sequence[tuple[str, Verdict]]
    """(Title, verdict) pairs: the first for the whole rating, then a pair for each of its parts."""


def _junit(report: _JudgedRating) -> str:
    """Write a JUnit test suite with a test case for the whole rating and one for each part."""
    counts = {"tests": len(report.verdicts), "failures": 0, "errors": 0, "skipped": 0}
    suite = ET.Element("testsuite", name=f"{report.name}: {report.subject}")
    for title, verdict in report.verdicts:
        case = ET.SubElement(suite, "testcase", classname=report.subject, name=title, time="0")
        if verdict.exit is Exit.OK:
            continue
        outcome, counter = _OUTCOMES[verdict.exit]  # the names of its element and its count
        counts[counter] += 1
        outcome_element = ET.SubElement(case, outcome)
        if outcome == "skipped":  # in Jenkins' JUnit schema, this element has no attributes
            outcome_element.text = verdict.message
        else:
            outcome_element.attrib.update(message=verdict.message, type=verdict.exit.name.lower())
    count_texts = {name: str(count) for name, count in counts.items()}
    suite.attrib.update({**count_texts, "time": "0"})
    root = ET.Element("testsuites", {name: count_texts[name] for name in ("tests", "failures", "errors")})
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_OUTCOMES = {
    Exit.BELOW: ("failure", "failures"),
    Exit.INCONCLUSIVE: ("skipped", "skipped"),
    Exit.UNAVAILABLE: ("error", "errors"),
}
"""Child element of a JUnit test case, and the attribute that counts such cases, by the exit code of the verdict."""

_LEVELS = {Exit.OK: "none", Exit.BELOW: "error", Exit.INCONCLUSIVE: "warning", Exit.UNAVAILABLE: "error"}


def _sarif(report: _JudgedRating) -> str:
    """Write a SARIF run with a result for the whole rating and one for each part."""
    location = {"artifactLocation": {"uri": quote(report.file.as_posix()) if report.file else "assay"}}
    results = [
        {
            "ruleId": "bias-rating",
            "kind": "pass" if verdict.exit is Exit.OK else "fail",
            "level": _LEVELS[verdict.exit],
            "message": {"text": f"{report.name}, {report.subject}, {title}: {verdict.message}"},
            "locations": [{"physicalLocation": location}],
            "partialFingerprints": {"assay/v1": f"{report.name}/{report.subject}/{title}"},
        }
        for title, verdict in report.verdicts
    ]
    rule = {"id": "bias-rating", "shortDescription": {"text": "The service passes the bar for its bias rating."}}
    run = {"tool": {"driver": {"name": "assay", "version": assay.__version__, "rules": [rule]}}, "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _github(report: _JudgedRating) -> str:
    """Write an annotation (workflow command of GitHub Actions) for the whole rating and one for each part."""
    commands = {Exit.OK: "notice", Exit.BELOW: "error", Exit.INCONCLUSIVE: "warning", Exit.UNAVAILABLE: "error"}
    lines = []
    for title, verdict in report.verdicts:
        name = _escape_property(f"{report.name}, {title}")
        file_property = f",file={_escape_property(escape_hidden(report.file.as_posix()))}" if report.file else ""
        lines.append(f"::{commands[verdict.exit]} title={name}{file_property}::{verdict.message.translate(ESCAPES)}\n")
    return "".join(lines)


def _escape_property(text: str) -> str:
    return text.translate(ESCAPES).replace(":", "%3A").replace(",", "%2C")


CI_FORMATS: Mapping[str, Callable[[_JudgedRating], str]] = {"junit": _junit, "sarif": _sarif, "github": _github}
"""Functions that write the formats for continuous integration, by name."""

FORMATS = ("text", "json", "markdown", *CI_FORMATS)
"""Formats of standard output."""
