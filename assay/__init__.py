"""Assay: an independent bias-rating agency for AI services. This package holds its scientific methods."""

__version__ = "1.0.0"
