"""Stereotype score: how often a language model prefers the stereotyped one of two sentences (Jiang et al.)."""
