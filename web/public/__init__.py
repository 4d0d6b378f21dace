"""Pages for everyone: the start page, the registry, the methodology, the log, problems and the API's description."""
