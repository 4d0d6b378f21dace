"""Whoever runs things here: webhooks, keys, limits and domains."""
