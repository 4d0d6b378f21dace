"""Commands about ratings: rate, rerate, compare, compose, export and verify."""
