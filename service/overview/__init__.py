"""``/v1/overview``: newest letters, problems that need attention, and the queue."""
