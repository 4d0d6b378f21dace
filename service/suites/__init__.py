"""``/v1/suites``: several ratings of one target."""
