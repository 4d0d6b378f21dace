"""Chains of rated services: what is known of them without a call."""
