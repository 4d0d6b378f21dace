"""Badges and catalog formats of ratings."""
