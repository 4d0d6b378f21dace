"""Ratings side by side, and the changes between them."""
