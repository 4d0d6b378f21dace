"""``/v1/keys``: API keys."""
