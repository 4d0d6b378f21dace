"""``/v1/domains``: proof that a host is the tenant's."""
