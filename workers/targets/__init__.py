"""Rated services (targets): adapters for their protocols, settings, and the checks before a rating."""
