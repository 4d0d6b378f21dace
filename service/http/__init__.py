"""HTTP machinery of all routes: problems, JSON, paging, conditional requests, rate limits."""
