"""Replies of the owners of rated services."""
