"""Pages that manage the agency: webhooks, keys, limits and domains."""
