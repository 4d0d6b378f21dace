"""Presentation of stored rating documents: reports, figures, pages and embeds (docs/architecture.md)."""
