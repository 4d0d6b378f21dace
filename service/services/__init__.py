"""Rated services: the public page of one, and rankings of many."""
