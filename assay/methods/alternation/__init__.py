"""Alternation: the same profile with another value of the attribute (Alelyani 2021)."""
