"""Presets: protocols that are defined by settings of another protocol, in TOML files."""
