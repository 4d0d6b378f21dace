"""Files that regulators require: ratings of recorded decisions (method ``outcomes``) in the form of a law or standard.

`AUDIT_FILES` lists the files; ``law.toml`` has the statements of each law, with sources, and facts to be supplied.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from assay.errors import SpecificationError, UnknownName
from assay.methods.outcomes.detail import OutcomesComponent
from reports.methods import REPORTS
from reports.pages.page import page_html
from reports.regulators.audit import MEDIA_TYPE, Audit, outcome_audit, read_audit
from reports.regulators.columns import EEOC, LL144, MEASURES, TR_24027, Column
from reports.regulators.regime import Regime, regime_csv, regime_page
from store.core.errors import HoldsPeople

__all__ = ["AUDIT_FILES", "METHOD", "AuditFile", "audit_file", "write_audit"]

METHOD = next(report.method.method for report in REPORTS if report.method.COMPONENT is OutcomesComponent)
"""Name of the method whose ratings can be written as these files: ``outcomes``."""


@dataclass(frozen=True, slots=True)
class AuditFile:
    """A kind of file for regulators, about one rating of recorded decisions or about several of a suite."""

    name: str
    """File name, which is the last part of its address."""
    media_type: str
    """Value of the header ``Content-Type``."""
    title: str
    """Name of the file for people."""
    write: Callable[[Sequence[Audit]], str]
    """Writes one audit or several as text."""


def _files_of_regime(key: str, columns: tuple[Column, ...]) -> Iterator[AuditFile]:
    """Yield the page and the tables (CSV) that a law or standard (regime) asks for; `columns` are those of a table."""
    regime = Regime.named(key)
    page = partial(regime_page, regime=regime, columns=columns)
    title = f"{regime.title} ({regime.regime})"
    yield AuditFile(f"{key}.html", "text/html; charset=utf-8", title, lambda audits: page_html(page(audits)))
    yield AuditFile(f"{key}.csv", "text/csv; charset=utf-8", f"{title}, tables", partial(regime_csv, columns=columns))


AUDIT_FILES: tuple[AuditFile, ...] = (
    *_files_of_regime("ll144", LL144),
    *_files_of_regime("eeoc", EEOC),
    *_files_of_regime("ai-act", MEASURES),
    *_files_of_regime("tr-24027", TR_24027),
    AuditFile("outcome-audit.json", MEDIA_TYPE, "All tables as data (outcome-audit/1)", outcome_audit),
)
"""Files that Assay writes for regulators."""


def audit_file(name: str) -> AuditFile:
    """Return the kind of file for regulators with this name; raise `UnknownName` if there is none."""
    by_name = {file.name: file for file in AUDIT_FILES}
    if name not in by_name:
        raise UnknownName("file for regulators", name, by_name)
    return by_name[name]


def write_audit(name: str, *documents: Mapping[str, Any]) -> str:
    """Write a rating document, or several, as one file for regulators; raise `UnknownName` if there is no such file.

    Raise `SpecificationError` without documents or for a rating by another method, which has no outcomes of people, and
    `HoldsPeople` if two ratings count the same data, so that masked counts could be computed from both together.
    """
    file = audit_file(name)
    if not documents:
        raise SpecificationError(f"{name} is about ratings of recorded decisions, and there is none")
    for document in documents:
        if document.get("method") != METHOD:
            expected = f"{name} is for ratings of recorded decisions (method {METHOD})"
            raise SpecificationError(f"{expected}; this one is by {document.get('method')}")
    audits = [read_audit(document) for document in documents]
    for audit, other in combinations(audits, 2):
        if audit.data.digest == other.data.digest and (audit.has_masked or other.has_masked):
            raise HoldsPeople(
                f"the ratings {audit.rating.document.id} and {other.rating.document.id} count the people of the same"
                " file, and small counts are masked: together they could betray them. Put all columns into one rating"
            )
    return file.write(audits)
