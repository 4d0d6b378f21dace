"""Questions: whether a language model names a group where the answer cannot be known (the design of BBQ)."""
