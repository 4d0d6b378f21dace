"""Webhook endpoints, the outbox, and deliveries."""
