"""Round-trip and one-hop: methods that rate the bias of translators (Srivastava & Rossi 2018)."""
