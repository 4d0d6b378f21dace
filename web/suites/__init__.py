"""Suites: several methods, attributes and languages, for one service or for several."""
