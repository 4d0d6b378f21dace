"""Free text: compares what a language model writes about people with different values of an attribute."""
