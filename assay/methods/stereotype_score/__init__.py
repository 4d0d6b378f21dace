"""Stereotype score: which of two sentences a language model prefers (Jiang et al.)."""
