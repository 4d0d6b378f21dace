"""Free text: what a language model writes about people."""
