"""Sentences and pictures made by an author service, and kept in corpora."""
