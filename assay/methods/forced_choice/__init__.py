"""Two-alternative forced choice: psychophysics of embedding endpoints and of choices (Liang & Acuna 2020)."""
