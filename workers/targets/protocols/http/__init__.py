"""Base classes of the adapters for protocols over HTTP."""
