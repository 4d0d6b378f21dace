"""`assay keys signing`: the keys that certificates are signed with, from the machine that holds the database."""

from __future__ import annotations

import json
from contextlib import closing

from rich.console import Console
from rich.table import Table

from store.core import migrate
from store.core.clock import iso
from store.core.database import Database
from store.core.settings import Settings
from store.security import signing
from store.security.secrets import Vault

console = Console(highlight=False)


def show(settings: Settings, *, as_jwks: bool) -> None:
    """Print every key there ever was, as a table or as a JSON Web Key Set."""
    migrate.upgrade(settings.resolved_database_url)
    with closing(Database(settings.resolved_database_url)) as database, database.read() as connection:
        found = signing.every(connection)
    if as_jwks:
        console.file.write(json.dumps({"keys": [key.as_jwk() for key in found]}, indent=2) + "\n")
        return
    table = Table("fingerprint", "made", "retired")
    for key in found:
        table.add_row(key.id, iso(key.created_at), "" if key.retired_at is None else iso(key.retired_at))
    console.print(table)


def rotate(settings: Settings) -> None:
    """Retire the present key and make a new one; print the new one's fingerprint."""
    migrate.upgrade(settings.resolved_database_url)
    vault = Vault.from_settings(settings)
    with closing(Database(settings.resolved_database_url)) as database, database.write() as connection:
        made = signing.rotate(connection, vault)
    console.print(f"certificates are signed with {made.id} from now on", soft_wrap=True)
