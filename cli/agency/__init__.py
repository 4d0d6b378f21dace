"""Commands of the operator: serve, work, keys and secrets."""
