"""API keys, sealed secrets, signing keys, and key rotation."""
