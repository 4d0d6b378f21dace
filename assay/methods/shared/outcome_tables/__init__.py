"""Tables of recorded decisions by group: selection rates, impact ratios, tests, error rates."""
