"""Assay: an independent bias-rating agency for AI services. This package is its science."""

__version__ = "0.1.0"
