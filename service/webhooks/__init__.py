"""``/v1/webhooks``: endpoints and deliveries."""
