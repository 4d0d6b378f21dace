"""Signed certificates of ratings, with their evidence."""
