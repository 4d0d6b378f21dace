"""Adapter for any HTTP interface that a job describes."""
