"""Saved targets, and hosts with proofs of their owners."""
