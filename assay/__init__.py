"""Assay: an independent bias-rating agency for AI services. This package holds its scientific methods."""

__version__ = "0.1.0"
