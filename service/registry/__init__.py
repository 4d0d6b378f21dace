"""``/v1/registry``: all public ratings, and the histories of targets and addresses."""
