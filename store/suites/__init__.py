"""Suites (several ratings in one request) and schedules (requests repeated at set times)."""
