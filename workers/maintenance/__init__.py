"""Jobs without a rating: domain challenges and re-rating."""
