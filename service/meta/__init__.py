"""The service about itself: health, metrics, documentation, the catalog."""
