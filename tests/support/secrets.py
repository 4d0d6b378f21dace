"""Stored secrets and the keys that encrypt them."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from store.security.rotation import HOLDERS, _has_old_key
from store.security.secrets import Vault


def count_old(c: Connection, vault: Vault) -> int:
    """Count the stored secrets that are still in use and not encrypted with the current key."""
    counts = [
        select(func.count()).select_from(holder.table).where(_has_old_key(holder, vault)).scalar_subquery()
        for holder in HOLDERS
    ]
    return sum(c.execute(select(*counts)).one())
