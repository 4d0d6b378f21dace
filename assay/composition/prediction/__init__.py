"""Prediction of composed services from their transition matrices (METHODS section 9)."""

from __future__ import annotations

from assay.composition.prediction.contents import read_contents, with_contents
from assay.composition.prediction.measured_service import TransitionEvidence, read_evidence
from assay.composition.prediction.predicted import Prediction, check_links, line_up, predict_chain

__all__ = [
    "Prediction",
    "TransitionEvidence",
    "check_links",
    "line_up",
    "predict_chain",
    "read_contents",
    "read_evidence",
    "with_contents",
]
