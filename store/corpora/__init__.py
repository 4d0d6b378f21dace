"""Corpora, specifications and uploads: input material of jobs."""
