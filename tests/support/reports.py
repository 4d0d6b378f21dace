"""Helpers that render reports as the product does: with the tables, figures and words of the rating's method."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay.document import ServiceDocument, as_json, read_json
from assay.explain import Vocabulary
from assay.methods import method_of
from assay.model import Finding
from assay.rating.decision import rate
from assay.rating.document import rating_document
from reports import formats, reading
from reports.formats import terminal
from reports.reading import RatingView


def render(format_name: str, document: Mapping[str, Any]) -> str:
    """Render a rating document in a format."""
    return formats.render(format_name, document)


def read(document: Mapping[str, Any]) -> RatingView:
    """Parse a rating document."""
    return reading.read(document)


def words_of(finding: Finding) -> Vocabulary:
    """Return the words of the method that made a finding."""
    return Vocabulary.of(method_of({"method": finding.method}))


def render_terminal(document: Mapping[str, Any], **options: Any) -> str:
    """Render a rating document for a terminal, with the options of that format."""
    return terminal.render(document, **options)


def document_of(finding: Finding, **stated: Any) -> dict[str, Any]:
    """Return the rating document of a finding as it is stored; `stated` are arguments of `rating_document`."""
    fields: dict[str, Any] = {
        "experiment": {},
        "target": {"name": "Made up", "kind": "translator", "protocol": "custom", "url": "http://127.0.0.1:1"},
        "seed": 0,
        "calls": 1,
        "failed_calls": 0,
        "evidence_digest": "sha256:0",
        "visibility": "private",
    }
    fields |= stated
    for service in fields.keys() & {"target", "author"}:
        fields[service] = read_json(ServiceDocument, fields[service])
    written = rating_document(rate(finding), vocabulary=words_of(finding), **fields)
    return dict(json.loads(json.dumps(as_json(written), allow_nan=False)))
