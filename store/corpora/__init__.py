"""Corpora, specifications and uploads: stored inputs of jobs."""
