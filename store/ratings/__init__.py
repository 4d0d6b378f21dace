"""Ratings and what is derived from them: publication, history, replies, certificates, the log."""
