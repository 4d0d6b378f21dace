"""Parsers of the answers of rated services, and of the options that a model chooses."""
