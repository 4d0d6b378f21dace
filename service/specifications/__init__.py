"""``/v1/specifications``: named word lists, in versions that never change."""
