"""Documentation for readers of ratings."""
