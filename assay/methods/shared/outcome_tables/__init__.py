"""Tables of outcomes by group: selection rates, ratios, tests and error rates of counted people."""
