"""Alembic migrations of the database; `store.core.migrate` runs them."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""Folder with `env.py` and `versions/`."""
