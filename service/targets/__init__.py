"""``/v1/targets``: saved targets and their history."""
