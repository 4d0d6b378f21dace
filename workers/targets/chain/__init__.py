"""Adapters that combine several targets: chains, and a rated service with its author or judge."""
