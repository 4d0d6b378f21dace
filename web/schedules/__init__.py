"""Schedules: ratings that are repeated."""
