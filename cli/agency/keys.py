"""`assay keys` and `assay secrets`: manage API keys, signing keys and stored secrets in the database."""

import contextlib
from collections.abc import Sequence

from rich.table import Table

from assay.errors import UnknownName
from cli.exits import Exit
from cli.terminal import console, print_json, show_list
from store.core import migrate
from store.core.columns import iso
from store.core.database import Database
from store.core.settings import Settings
from store.security import keys, rotation, signing
from store.security.secrets import Vault


def _open_migrated(settings: Settings) -> contextlib.closing[Database]:
    migrate.upgrade(settings.resolved_database_url)
    return contextlib.closing(Database(settings.resolved_database_url))


def create(settings: Settings, name: str, scopes: Sequence[str], tenant: str) -> None:
    """Create an API key, and print only the key on standard output."""
    for scope in scopes:
        if scope not in keys.SCOPES:
            raise UnknownName("scope", scope, tuple(keys.SCOPES))
    with _open_migrated(settings) as database, database.write() as connection:
        _, plain_key = keys.create(connection, tenant, list(scopes), name)
    console.print(plain_key, soft_wrap=True)


def show(settings: Settings, tenant: str, search: str | None, *, as_json: bool) -> None:
    """Print a tenant's API keys, without secrets, as a table or JSON; with `search`, only keys with this text."""
    with _open_migrated(settings) as database, database.read() as connection:
        stored_keys = keys.page(connection, tenant)
    rows = [
        {"id": key.id, "name": key.name, "scopes": list(key.scopes), "revoked": key.revoked_at is not None}
        for key in stored_keys
    ]
    show_list(rows, search=search, as_json=as_json)


def revoke(settings: Settings, key_id: str, tenant: str) -> None:
    """Revoke an API key; raise `UnknownName` if the tenant has no such key."""
    with contextlib.closing(Database(settings.resolved_database_url)) as database, database.write() as connection:
        if not keys.revoke(connection, key_id, tenant):
            raise UnknownName("key", key_id, ("see `assay keys list`",))
    console.print(f"{key_id} is revoked")


def show_signing(settings: Settings, *, as_jwks: bool) -> None:
    """Print every signing key, retired ones included, as a table or as a JSON Web Key Set."""
    with _open_migrated(settings) as database, database.read() as connection:
        signing_keys = signing.all_keys(connection)
    if as_jwks:
        print_json({"keys": [key.as_jwk() for key in signing_keys]})
        return
    table = Table("fingerprint", "made", "retired")
    for key in signing_keys:
        table.add_row(key.id, iso(key.created_at), "" if key.retired_at is None else iso(key.retired_at))
    console.print(table)


def rotate_signing(settings: Settings) -> None:
    """Retire the current signing key and create a new one; print the thumbprint of the new key."""
    with _open_migrated(settings) as database, database.write() as connection:
        new_key = signing.rotate(connection, Vault.from_settings(settings))
    console.print(f"certificates are signed with {new_key.id} from now on", soft_wrap=True)


def rotate_secrets(settings: Settings) -> int:
    """Encrypt every stored secret with the current key; print rows that no key opens; return the exit code."""
    migrate.check(settings.resolved_database_url)
    vault = Vault.from_settings(settings)
    resealed_count, lost_ids = 0, list[str]()
    with contextlib.closing(Database(settings.resolved_database_url)) as database:
        for holder_index in range(len(rotation.HOLDERS)):  # tables with secrets
            last_id: str | None = None
            while True:  # a transaction for each batch, so that others can write in between
                with database.write() as connection:
                    batch = rotation.reseal(connection, vault, holder_index, last_id)
                resealed_count += batch.resealed
                lost_ids += batch.lost
                if (last_id := batch.last_id) is None:
                    break
    console.print(f"{resealed_count} secrets were resealed with the present key ({vault.key_id}).")
    if not lost_ids:
        console.print("None is left under an older key: ASSAY_SECRET_KEY_OLDER can be unset.")
        return 0
    console.print(f"No configured key opens the secrets of {len(lost_ids)} rows: {', '.join(lost_ids[:10])}")
    console.print("Add the key they were sealed with to ASSAY_SECRET_KEY_OLDER, or enter these secrets again.")
    return Exit.UNAVAILABLE
