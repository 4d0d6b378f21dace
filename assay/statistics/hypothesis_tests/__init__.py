"""Hypothesis tests and distances between distributions."""
