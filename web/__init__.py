"""Web pages over the API (docs/dashboard.md); `web.site.add_pages` adds them to the application."""
