"""Ratings, their publication, history, replies and certificates, and the transparency log."""
