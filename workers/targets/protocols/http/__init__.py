"""Base classes of the adapters for protocols over HTTP, and decisions of language models."""
