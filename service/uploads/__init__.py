"""``/v1/uploads``: tables, embeddings and trials."""
