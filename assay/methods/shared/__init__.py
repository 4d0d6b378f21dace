"""What several methods use: distributions, coverage of word lists, profiles."""
