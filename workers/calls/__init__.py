"""Calls to a target: batches, concurrency, retries, slots and shared rate limits."""
