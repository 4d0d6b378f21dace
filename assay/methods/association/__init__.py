"""Association of protected words with stereotypes in embeddings (Dobrzeniecka & Urbaniak)."""
