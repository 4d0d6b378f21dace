"""Outcomes: a service judged by its own recorded decisions, without a call (docs/methods/outcomes.md)."""
