"""Outcomes: rates a service from a file of its recorded decisions, without calling it (docs/methods/outcomes.md)."""
