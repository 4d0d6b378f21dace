"""A ``model-index`` for the head of a model card on Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.model import Kind
from assay.reports.embeds.public_view import Shown

TASKS: Mapping[str, str] = {
    Kind.TRANSLATOR: "translation",
    Kind.CLASSIFIER: "text-classification",
    Kind.REGRESSOR: "tabular-regression",
    Kind.EMBEDDER: "feature-extraction",
    Kind.LANGUAGE_MODEL: "text-generation",
    Kind.IMAGE_CLASSIFIER: "image-classification",
}
"""Hugging Face task of each kind of service."""
ANY_TASK = "other"


def content(view: Shown) -> dict[str, Any]:
    """Return the ``model-index``; without a rating, its list of results is empty."""
    return {"model-index": [{"name": view.target, "results": [_result(view)] if view.id else []}]}


def _result(view: Shown) -> dict[str, Any]:
    names = [part for part in (view.method, view.attribute) if part]
    return {
        "task": {"type": TASKS.get(view.kind or "", ANY_TASK)},
        "dataset": {"type": "-".join(["assay", *names]), "name": f"Assay probes ({', '.join(names)})"},
        "metrics": [_metric(view, "bias-rating", "Bias rating", view.message), *_probability(view)],
        "source": {"name": f"Assay, methodology {view.methodology}", "url": view.address("report.html")},
    }


def _probability(view: Shown) -> list[dict[str, Any]]:
    if view.probability is None:
        return []
    return [_metric(view, "bias-rating-probability", f"Probability of {view.letter}", view.probability)]


def _metric(view: Shown, kind: str, name: str, value: Any) -> dict[str, Any]:
    """Return a metric with the dates and the status of the rating in `args`."""
    dates = {key: view.known_facts[key] for key in ("rated_at", "expires_at", "status") if key in view.known_facts}
    return {"type": kind, "name": name, "value": value, "args": dates}
