"""Annotations and links for the ``catalog-info.yaml`` of a Backstage entity."""

from __future__ import annotations

from typing import Any

from assay.reports.embeds.public_view import Shown

PREFIX = "assay"
"""Namespace of the annotations; the name of a fact follows after a slash."""


def content(view: Shown) -> dict[str, Any]:
    """Return the content to merge into the entity's ``metadata``.

    The values of annotations are texts; a fact that does not exist has no annotation.
    """
    annotations = {f"{PREFIX}/{name.replace('_', '-')}": _text(value) for name, value in view.known_facts.items()}
    return {"metadata": {"annotations": annotations, "links": _links(view)}}


def _links(view: Shown) -> list[dict[str, Any]]:
    if view.address() is None:
        return []
    return [
        {
            "url": view.address("report.html"),
            "title": f"{view.subject}: {view.message}",
            "icon": "docs",
            "type": "bias-rating",
        },
        {"url": view.address("badge.svg"), "title": "Badge", "type": "badge"},
    ]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
