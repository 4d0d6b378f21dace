"""Protocols as data: settings of another protocol."""
