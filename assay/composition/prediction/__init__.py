"""Prediction of composed services from their transition matrices (docs/methods/composition.md)."""

from __future__ import annotations

from assay.composition.prediction.measured_service import TransitionEvidence, read_evidence, with_contents
from assay.composition.prediction.predicted import Prediction, line_up, predict_chain

__all__ = [
    "Prediction",
    "TransitionEvidence",
    "line_up",
    "predict_chain",
    "read_evidence",
    "with_contents",
]
