"""``/v1/compositions``: ratings of services called one after the other."""
