"""API keys, encrypted secrets, signing keys, and key rotation."""
