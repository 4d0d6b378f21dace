"""Reports as the product renders them: with the presentation of the rating's method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay import reports
from assay.explain import Vocabulary
from assay.methods import presentation_of
from assay.model import Finding
from assay.reports import reading, terminal
from assay.reports.view import RatingView


def render(format_name: str, document: Mapping[str, Any]) -> str:
    """Write a rating document in a format."""
    return reports.render(format_name, document, presentation_of(document))


def read(document: Mapping[str, Any]) -> RatingView:
    """Read a rating document."""
    return reading.read(document, presentation_of(document))


def words_of(finding: Finding) -> Vocabulary:
    """Return the words of the method that made a finding."""
    return presentation_of({"method": finding.method}).vocabulary


def render_terminal(document: Mapping[str, Any], **options: Any) -> str:
    """Write a rating document for a terminal, with the options of that format."""
    return terminal.render(document, presentation_of(document), **options)
