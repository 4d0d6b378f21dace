"""Services: their newest letters, their history, and the actions on each."""
