"""Two-alternative forced choice: bias of embeddings, or of choices by services and people (Liang & Acuna 2020)."""
