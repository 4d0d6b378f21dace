"""The database's history, one frozen step per file; `store.core.migrate` walks it."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""Where Alembic finds `env.py` and `versions/`."""
