"""Round-trip and one-hop: the gender a translator gives to people (Srivastava & Rossi 2018)."""
