"""Moves stored secrets to the present key, a few rows at a time, while everything runs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, and_, func, or_, select, update

from store.errors import SecretLost, SecretMoved
from store.job import UNFINISHED
from store.schema import jobs, targets
from store.secrets import Vault, sealed_columns, sealed_from

FIELD = "secret"
BATCH = 200

HOLDERS: tuple[tuple[Table, ColumnElement[bool]], ...] = (
    (targets, targets.c.removed_at.is_(None)),
    (jobs, jobs.c.status.in_(UNFINISHED)),
)
"""Tables that hold secrets, and the rows that may still need theirs."""


@dataclass(frozen=True)
class Rotated:
    """What one batch did: secrets resealed, and rows whose secret no key opens."""

    resealed: int
    lost: tuple[str, ...]
    last_id: str | None


def count_old(c: Connection, vault: Vault) -> int:
    """Count the secrets that are needed and not sealed with the present key."""
    counts = [select(func.count()).where(_old(table, needed, vault)).scalar_subquery() for table, needed in HOLDERS]
    return sum(c.execute(select(*counts)).one())


def reseal(c: Connection, vault: Vault, holder: int, after: str | None = None) -> Rotated:
    """Reseal the next `BATCH` secrets of a table with the present key.

    Parameters
    ----------
    c : Connection
        A transaction.
    vault : Vault
        Opens with any of its keys, seals with the present one.
    holder : int
        Place in `HOLDERS`.
    after : str, optional
        Id of the last row of the batch before.

    Returns
    -------
    Rotated
        With ``last_id`` None where nothing is left.
    """
    table, needed = HOLDERS[holder]
    query = select(table).where(_old(table, needed, vault)).order_by(table.c.id).limit(BATCH).with_for_update()
    if after is not None:
        query = query.where(table.c.id > after)
    rows, lost = c.execute(query).mappings().all(), []
    for row in rows:
        sealed, place = sealed_from(row), {"tenant": row["tenant"], "target": row["id"], "field": FIELD}
        assert sealed is not None  # noqa: S101  the query asks for rows with a secret
        try:
            plain = vault.open(sealed, **place)
        except (SecretLost, SecretMoved):
            lost.append(row["id"])
            continue
        c.execute(update(table).where(table.c.id == row["id"]).values(sealed_columns(vault.seal(plain, **place))))
    return Rotated(len(rows) - len(lost), tuple(lost), rows[-1]["id"] if rows else None)


def _old(table: Table, needed: ColumnElement[bool], vault: Vault) -> ColumnElement[bool]:
    other_key = or_(table.c.secret_key_id.is_(None), table.c.secret_key_id != vault.key_id)
    return and_(table.c.secret_ciphertext.is_not(None), other_key, needed)
