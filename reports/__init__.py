"""How ratings are shown: the stored documents as reports, figures, pages and embeds (docs/architecture.md)."""
