"""Code that several methods share: distributions, coverage of word lists, profiles."""
