"""Questions: tests whether a language model names a group when the answer cannot be known (the design of BBQ)."""
