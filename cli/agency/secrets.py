"""`assay secrets`: move stored secrets to a new key."""

from __future__ import annotations

import contextlib

from rich.console import Console

from cli.exits import Exit
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.security import rotation
from store.security.secrets import Vault

console = Console(highlight=False)


def rotate(settings: Settings) -> int:
    """Reseal every secret that is still needed with the present key; say what no key opens."""
    migrate.check(settings.resolved_database_url)
    vault, resealed, lost = Vault.from_settings(settings), 0, list[str]()
    with contextlib.closing(Database(settings.resolved_database_url)) as database:
        for holder in range(len(rotation.HOLDERS)):
            after: str | None = None
            while True:
                with database.write() as connection:
                    done = rotation.reseal(connection, vault, holder, after)
                resealed += done.resealed
                lost += done.lost
                if done.last_id is None:
                    break
                after = done.last_id
    console.print(f"{resealed} secrets were resealed with the present key ({vault.key_id}).")
    if not lost:
        console.print("None is left under an older key: ASSAY_SECRET_KEY_OLDER can be unset.")
        return 0
    console.print(f"No configured key opens the secrets of {len(lost)} rows: {', '.join(lost[:10])}")
    console.print("Add the key they were sealed with to ASSAY_SECRET_KEY_OLDER, or enter these secrets again.")
    return Exit.UNAVAILABLE
