"""Association of words for groups (she, he) with stereotypes in word embeddings (Dobrzeniecka & Urbaniak)."""
