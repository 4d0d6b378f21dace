"""Parsing of answers."""
