"""Saved targets and the hosts that a tenant has proved to own."""
