"""Signing in with an API key or an account (OpenID Connect), and signing out."""
