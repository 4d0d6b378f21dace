"""`assay keys`: API keys from the shell of the machine that holds the database."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from assay.errors import UnknownName
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.security import keys

console = Console(highlight=False)


def create(settings: Settings, name: str, scopes: Sequence[str], tenant: str) -> None:
    """Make a key and print it, alone on standard output."""
    migrate.upgrade(settings.resolved_database_url)
    for scope in scopes:
        if scope not in keys.SCOPES:
            raise UnknownName("scope", scope, tuple(keys.SCOPES))
    with Database(settings.resolved_database_url).write() as connection:
        _, plain = keys.create(connection, tenant, list(scopes), name, None)
    console.print(plain, soft_wrap=True)


def show(settings: Settings, tenant: str) -> None:
    """Print a tenant's keys as a table."""
    migrate.upgrade(settings.resolved_database_url)
    with Database(settings.resolved_database_url).read() as connection:
        found = keys.page(connection, tenant)
    table = Table("id", "name", "scopes", "revoked")
    for key in found:
        table.add_row(key.id, key.name, " ".join(key.scopes), "yes" if key.revoked_at else "")
    console.print(table)


def revoke(settings: Settings, key_id: str, tenant: str) -> None:
    """Revoke a key."""
    with Database(settings.resolved_database_url).write() as connection:
        if not keys.revoke(connection, key_id, tenant):
            raise UnknownName("key", key_id, ("see `assay keys list`",))
    console.print(f"{key_id} is revoked")
