"""Capability checks: whether a target can be rated at all."""
