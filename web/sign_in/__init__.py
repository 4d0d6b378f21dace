"""Signing in with an API key, and signing out."""
