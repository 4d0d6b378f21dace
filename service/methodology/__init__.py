"""``/v1/methodology``: versions of the methodology, and letters of a rating by other versions."""
