"""Specifications: named lists of words, shipped ones and the caller's own."""
