"""Measures of bias in word vectors."""
