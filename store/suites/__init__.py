"""Suites and schedules: several ratings asked for together, and again and again."""
