"""`MethodReport` of each method, one module each, and functions to look them up.

To add a report: write its module and add its `MethodReport` to `REPORTS`. Third parties add theirs through the
entry-point group ``assay.method_reports`` (docs/extending.md). A method without one has the default report.
"""

from collections.abc import Mapping
from functools import cache

from assay.document import Json
from assay.methods import method_of
from assay.plug_ins import plug_ins
from reports.method_report import MethodReport
from reports.methods import (
    alternation,
    association,
    forced_choice,
    free_text,
    outcomes,
    questions,
    stereotype_score,
    stimulus_sampling,
    translation,
    visual_stereotype,
)

REPORTS: tuple[MethodReport, ...] = (
    translation.ROUND_TRIP,
    translation.ONE_HOP,
    alternation.REPORT,
    forced_choice.REPORT,
    stimulus_sampling.REPORT,
    association.REPORT,
    stereotype_score.REPORT,
    visual_stereotype.REPORT,
    outcomes.REPORT,
    free_text.REPORT,
    questions.REPORT,
)
"""Reports of Assay's methods, in the order of `assay.methods.METHODS`."""

GROUP = "assay.method_reports"
"""Entry-point group in which installed packages offer the `MethodReport` of a method."""


@cache
def installed_reports() -> Mapping[str, MethodReport]:
    """Return reports by method: Assay's, then others of installed packages; `TypeError` if one is no `MethodReport`."""
    reports = {report.method.method: report for report in REPORTS}
    for report in plug_ins(GROUP, MethodReport):
        reports.setdefault(report.method.method, report)
    return reports


def report_of(document: Json) -> MethodReport:
    """Return the report of the method that made a rating; a default report if the method has none."""
    method = method_of(document)
    report = installed_reports().get(str(document.get("method")))
    # without the package of a method, `method_of` returns the general class, which no report is about
    return report if report is not None and report.method is method else MethodReport(method)
