"""What every route shares of HTTP: problems, JSON, paging, conditional requests, rates."""
