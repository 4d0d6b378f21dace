"""Ratings: the list, and each rating with its finding, evidence, history, provenance, certificate and reply."""
