"""Key rotation: re-encrypt stored secrets with the current key, in batches, without downtime."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, or_, select, update

from store.core.columns import SealedSecret, now_ms, take_sealed
from store.core.errors import SecretLost, SecretMoved
from store.jobs.job import UNFINISHED
from store.jobs.tables import jobs
from store.security.secrets import Vault
from store.security.signing import TENANT as AGENCY
from store.security.tables import signing_keys
from store.targets.tables import targets
from store.webhooks.tables import webhooks

FIELD = "secret"
SEALED_FIELDS = ("ciphertext", "nonce", "key_id")
BATCH = 200


@dataclass(frozen=True)
class Holder:
    """Location of secrets: a table, the condition of rows whose secret is needed, and the secret columns' prefix."""

    table: Table
    needed: ColumnElement[bool]
    prefix: str = "secret"

    def column(self, name: str) -> ColumnElement[Any]:
        """Return the column ``ciphertext``, ``nonce`` or ``key_id``."""
        return self.table.c[f"{self.prefix}_{name}"]


HOLDERS: tuple[Holder, ...] = (
    Holder(targets, targets.c.removed_at.is_(None)),
    Holder(jobs, jobs.c.status.in_(UNFINISHED)),
    Holder(signing_keys, and_(signing_keys.c.retired_at.is_(None), signing_keys.c.secret_key_id != "")),
    Holder(webhooks, webhooks.c.removed_at.is_(None)),
    Holder(webhooks, and_(webhooks.c.removed_at.is_(None), webhooks.c.previous_until > now_ms()), prefix="previous"),
)


@dataclass(frozen=True)
class RotationResult:
    """Result of a batch: number of re-encrypted secrets, ids of rows that could not be decrypted, last id read."""

    resealed: int
    lost: tuple[str, ...]
    last_id: str | None


def reseal(c: Connection, vault: Vault, holder_index: int, after: str | None = None) -> RotationResult:
    """Re-encrypt the next `BATCH` secrets in the columns ``HOLDERS[holder_index]`` with the current key.

    `after` is ``last_id`` of the previous batch; ``last_id`` is ``None`` when no rows are left.
    """
    secret_holder = HOLDERS[holder_index]
    table = secret_holder.table
    query = select(table).where(_has_old_key(secret_holder, vault)).order_by(table.c.id).limit(BATCH).with_for_update()
    if after is not None:
        query = query.where(table.c.id > after)
    lost_ids = []
    rows = c.execute(query).mappings().all()
    for row in rows:
        try:
            resealed_secret = _reseal(vault, secret_holder, row)
        except (SecretLost, SecretMoved):
            lost_ids.append(row["id"])
            continue
        # `last4` is unchanged
        columns = {f"{secret_holder.prefix}_{name}": getattr(resealed_secret, name) for name in SEALED_FIELDS}
        c.execute(update(table).where(table.c.id == row["id"]).values(columns))
    last_id = rows[-1]["id"] if rows else None
    return RotationResult(resealed=len(rows) - len(lost_ids), lost=tuple(lost_ids), last_id=last_id)


def _reseal(vault: Vault, secret_holder: Holder, row: RowMapping) -> SealedSecret:
    """Decrypt the secret in a row, and encrypt it with the current key, bound to the same row."""
    sealed_secret = take_sealed(dict(row), secret_holder.prefix)
    assert sealed_secret is not None  # noqa: S101  by the condition `_has_old_key`
    binding = {"tenant": row.get("tenant", AGENCY), "target": row["id"]}  # AGENCY: of signing keys
    if secret_holder.table in (targets, jobs):
        # a target's row has the fields of its description
        binding |= {"description": row["target"] if secret_holder.table is jobs else dict(row)}
        return vault.seal_for_target(vault.open_for_target(sealed_secret, **binding), **binding)
    return vault.seal(vault.open(sealed_secret, **binding, field=FIELD), **binding, field=FIELD)


def _has_old_key(secret_holder: Holder, vault: Vault) -> ColumnElement[bool]:
    """Return the condition that a row has a needed secret, encrypted with another key than the current one."""
    key_id = secret_holder.column("key_id")
    return and_(
        secret_holder.column("ciphertext").is_not(None),
        or_(key_id.is_(None), key_id != vault.key_id),
        secret_holder.needed,
    )
