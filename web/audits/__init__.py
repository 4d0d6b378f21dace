"""Audits: recorded decisions from a file to the tables of a rating."""
