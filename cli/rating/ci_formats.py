"""Formats of ratings for continuous integration: JUnit XML, SARIF 2.1.0, and annotations of GitHub Actions.

All of them compare a rating, and each of its parts, with the worst letter that is accepted (`--at-least`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

import assay
from assay.document import Json
from cli.exits import Exit
from cli.gate import BEST_FIRST
from reports.plain import codes, visible

USUAL_BAR = "DSBS"
"""Worst accepted letter without ``--at-least``, the same as for `assay gate`."""

MISFIT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
"""Characters that must be escaped in a workflow command of GitHub Actions."""


@dataclass(frozen=True)
class Verdict:
    """Result of comparing a rating, or a part of it, with the worst letter that is accepted."""

    exit: Exit
    """0 if it passes; 1 if its letter is below the bar; 3 if it is inconclusive, whatever letter it leans to."""
    name: str
    """Name of the part, or of the service for the whole rating."""
    message: str
    """Reason, in a sentence."""

    @classmethod
    def of(cls, document: Json, bar: str, name: str | None = None) -> Verdict:
        """Judge a rating document, or one of its components by its `name`."""
        letter, title = document["letter"], visible(name or document["target"]["name"])
        if letter is None:
            return cls(Exit.INCONCLUSIVE, title, "Nothing could be measured.")
        if not document["declared"]:
            return cls(Exit.INCONCLUSIVE, title, f"Inconclusive, leaning to {letter}.")
        passed = BEST_FIRST.index(letter) <= BEST_FIRST.index(bar)
        message = f"{letter}, {'at least' if passed else 'below'} {bar}."
        return cls(Exit.UCS if passed else Exit.DSBS, title, message)


def of_rating(name: str, document: Json, bar: str, file: Path | None) -> str:
    """Write a rating in a format of `FORMATS`; `file` is the request file, to which annotations are attached."""
    overall = Verdict.of(document, bar)
    subject = visible(f"{document['attribute']} bias by {document['method']}")
    facts = visible(f"{overall.message} {document.get('in_words') or ''}")
    parts = [Verdict.of(component, bar, str(component["name"])) for component in document["components"]]
    return FORMATS[name](_Judged(Verdict(overall.exit, overall.name, facts), parts, subject, file))


def of_failure(name: str, target: str, error: Json) -> str:
    """Write a rating that could not be made in a format of `FORMATS`; `error` is the problem object of its job."""
    message = visible(f"{error['title']}: {error['detail']}")
    return FORMATS[name](_Judged(Verdict(Exit.UNAVAILABLE, visible(target), message), [], "rating", None))


@dataclass(frozen=True)
class _Judged:
    overall: Verdict
    parts: list[Verdict]
    subject: str
    file: Path | None

    @property
    def verdicts(self) -> Iterator[tuple[str, Verdict]]:
        """Verdicts on the whole rating and on each of its parts, each with a title."""
        yield "the whole", self.overall
        for part in self.parts:
            yield f"part {part.name}", part


def _junit(report: _Judged) -> str:
    """Write a JUnit test suite with a test case for the whole rating and one for each part."""
    counts = {"tests": 1 + len(report.parts), "failures": 0, "errors": 0, "skipped": 0}
    suite = ET.Element("testsuite", name=f"{report.overall.name}: {report.subject}")
    for title, verdict in report.verdicts:
        case = ET.SubElement(suite, "testcase", classname=report.subject, name=title, time="0")
        if verdict.exit is Exit.UCS:
            continue
        outcome, count = _OUTCOMES[verdict.exit]
        counts[count] += 1
        element = ET.SubElement(case, outcome)
        if outcome == "skipped":  # in Jenkins' JUnit schema, this element has no attributes
            element.text = verdict.message
        else:
            element.attrib.update(message=verdict.message, type=verdict.exit.name.lower())
    numbers = {name: str(count) for name, count in counts.items()}
    suite.attrib.update({**numbers, "time": "0"})
    root = ET.Element("testsuites", {key: numbers[key] for key in ("tests", "failures", "errors")})
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_OUTCOMES = {
    Exit.DSBS: ("failure", "failures"),
    Exit.INCONCLUSIVE: ("skipped", "skipped"),
    Exit.UNAVAILABLE: ("error", "errors"),
}
"""Child element of a JUnit test case, and the attribute that counts such cases, by the exit code of the verdict."""

_LEVELS = {Exit.UCS: "none", Exit.DSBS: "error", Exit.INCONCLUSIVE: "warning", Exit.UNAVAILABLE: "error"}


def _sarif(report: _Judged) -> str:
    """Write a SARIF run with a result for the whole rating and one for each part."""
    location = {"artifactLocation": {"uri": quote(report.file.as_posix()) if report.file else "assay"}}
    results = [
        {
            "ruleId": "bias-rating",
            "kind": "pass" if verdict.exit is Exit.UCS else "fail",
            "level": _LEVELS[verdict.exit],
            "message": {"text": f"{report.overall.name}, {report.subject}, {title}: {verdict.message}"},
            "locations": [{"physicalLocation": location}],
            "partialFingerprints": {"assay/v1": f"{report.overall.name}/{report.subject}/{title}"},
        }
        for title, verdict in report.verdicts
    ]
    rule = {"id": "bias-rating", "shortDescription": {"text": "The service passes the bar for its bias rating."}}
    driver = {"name": "assay", "version": assay.__version__, "rules": [rule]}
    run = {"tool": {"driver": driver}, "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _github(report: _Judged) -> str:
    """Write an annotation (workflow command of GitHub Actions) for the whole rating and one for each part."""
    kinds = {Exit.UCS: "notice", Exit.DSBS: "error", Exit.INCONCLUSIVE: "warning", Exit.UNAVAILABLE: "error"}
    lines = []
    for title, verdict in report.verdicts:
        name = _property(f"{report.overall.name}, {title}")
        at = f",file={_property(codes(report.file.as_posix()))}" if report.file else ""
        lines.append(f"::{kinds[verdict.exit]} title={name}{at}::{verdict.message.translate(MISFIT)}\n")
    return "".join(lines)


def _property(text: str) -> str:
    return text.translate(MISFIT).replace(":", "%3A").replace(",", "%2C")


FORMATS: Mapping[str, Callable[[_Judged], str]] = {"junit": _junit, "sarif": _sarif, "github": _github}
"""Functions that write the formats for continuous integration, by name."""
