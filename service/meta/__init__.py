"""Health, metrics, documentation and the catalog of methods, attributes and protocols."""
