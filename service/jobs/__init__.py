"""``/v1/jobs``: submit rating jobs and follow them."""
