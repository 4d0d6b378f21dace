"""Ratings side by side, and what changed from one to another."""
