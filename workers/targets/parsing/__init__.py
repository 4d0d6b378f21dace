"""Parsing of the answers of services."""
