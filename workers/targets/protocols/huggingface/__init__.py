"""Hugging Face's inference interface."""
