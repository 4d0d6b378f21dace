"""Bytes that tenants store, and their limit."""
