"""``/v1/ratings``: read ratings, their reports and comparisons."""
