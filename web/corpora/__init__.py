"""Corpora: stored sentences and pictures, with their review, import and export."""
