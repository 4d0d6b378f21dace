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


def content(shown: Shown) -> dict[str, Any]:
    """Return the ``model-index``; without a rating, its list of results is empty."""
    return {"model-index": [{"name": shown.target, "results": [_result(shown)] if shown.id else []}]}


def _result(shown: Shown) -> dict[str, Any]:
    asked = [part for part in (shown.method, shown.attribute) if part]
    return {
        "task": {"type": TASKS.get(shown.kind or "", ANY_TASK)},
        "dataset": {"type": "-".join(["assay", *asked]), "name": f"Assay probes ({', '.join(asked)})"},
        "metrics": [_metric(shown, "bias-rating", "Bias rating", shown.message), *_probability(shown)],
        "source": {"name": f"Assay, methodology {shown.methodology}", "url": shown.address("report.html")},
    }


def _probability(shown: Shown) -> list[dict[str, Any]]:
    if shown.probability is None:
        return []
    return [_metric(shown, "bias-rating-probability", f"Probability of {shown.letter}", shown.probability)]


def _metric(shown: Shown, kind: str, name: str, value: Any) -> dict[str, Any]:
    """Return a metric with the dates and the status of the rating in `args`."""
    dates = {key: shown.known_facts[key] for key in ("rated_at", "expires_at", "status") if key in shown.known_facts}
    return {"type": kind, "name": name, "value": value, "args": dates}
