"""``/v1/domains``: verification that a tenant owns a host."""
