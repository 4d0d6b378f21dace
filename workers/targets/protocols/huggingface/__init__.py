"""Adapters for Hugging Face's inference API."""
