"""Chains of rated services: letters inferred without a call."""
