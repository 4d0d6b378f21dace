"""Prediction of composed services from their transition matrices (docs/methods/composition.md)."""
