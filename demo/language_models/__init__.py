"""Language models of known bias."""
