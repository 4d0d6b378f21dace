"""Uploads: files for jobs."""
