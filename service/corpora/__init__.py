"""``/v1/corpora`` and ``/v1/specifications``: sentences, pictures and word lists."""
