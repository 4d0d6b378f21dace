"""Kinds of services in words."""

from __future__ import annotations

KINDS = {
    "translator": "Translators",
    "language-model": "Language models",
    "embedder": "Embedders",
    "classifier": "Classifiers",
    "regressor": "Regressors",
    "image-classifier": "Image classifiers",
    "decision-tool": "Tools known by their decisions",
}
"""Kinds of services as headings, in the order of all lists."""
