"""What is remembered: jobs, evidence, ratings, targets, keys. The only package that knows SQL."""
