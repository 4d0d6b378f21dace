"""Publication of ratings: the registry, the log, replies, badges."""
