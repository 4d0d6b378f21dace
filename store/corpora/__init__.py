"""Corpora, specifications and uploads: material that jobs ask services about."""
