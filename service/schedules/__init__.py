"""``/v1/schedules``: ratings that are repeated."""
