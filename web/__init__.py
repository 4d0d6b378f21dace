"""Web pages over the API (docs/dashboard.md). `add_pages` adds them to the application."""

from web.site import add_pages

__all__ = ["add_pages"]
