"""Sentences and images that an author (a generating service) made, and their storage in corpora."""
