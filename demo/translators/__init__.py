"""Translators of known bias."""
