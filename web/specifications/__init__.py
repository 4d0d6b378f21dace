"""Specifications: named lists of words, shipped and one's own."""
