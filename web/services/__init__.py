"""Services: their newest letters, their history, and what one can do with each."""
