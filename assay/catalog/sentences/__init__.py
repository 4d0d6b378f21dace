"""Sentences about people in languages other than English: one file a language, and functions that read them."""
