"""The right of reply: what the owner of a rated service says, shown beside the rating and never altering it.

A rating has one reply. It is written by a tenant that has shown, within the last days, that it runs the
host the rating was made at (`store.targets.domains`); where two have, by the one whose proof is the newer.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from store.core.agency_schema import replies
from store.core.clock import read_clock
from store.core.errors import NotTheOwner
from store.ratings.ratings import StoredRating
from store.targets import domains
from store.targets.domains import Domain, host_of


@dataclass(frozen=True)
class OwnersReply:
    """A reply. `created_at` is when it was last written, in milliseconds since 1970."""

    rating_id: str
    tenant: str
    host: str
    text: str
    link: str | None
    created_at: int


def put(c: Connection, rating: StoredRating, tenant: str, text: str, link: str | None) -> tuple[OwnersReply, bool]:
    """Write the reply to a rating, in place of the one there was.

    Parameters
    ----------
    c : Connection
        A transaction.
    rating : StoredRating
        One that the tenant may see; whose it is does not matter.
    tenant : str
        Who replies.
    text, link : str
        What is said, plain, and where more is said.

    Returns
    -------
    (OwnersReply, bool)
        The reply, and whether there was none before.

    Raises
    ------
    NotTheOwner
        If the tenant has not shown that it runs the rated host, or another has since.
    """
    mine = _proof(c, rating, tenant)
    before = find(c, rating.id)
    if before is not None and before.tenant != tenant:
        _check_newer(c, mine, before)
    reply = OwnersReply(rating.id, tenant, mine.host, text, link, read_clock(c))
    new = sqlite.insert(replies) if c.dialect.name == "sqlite" else postgresql.insert(replies)
    changed = {name: new.excluded[name] for name in ("tenant", "host", "text", "link", "created_at")}
    c.execute(new.values(vars(reply)).on_conflict_do_update(index_elements=[replies.c.rating_id], set_=changed))
    return reply, before is None


def find(c: Connection, rating_id: str) -> OwnersReply | None:
    """Read the reply to a rating."""
    row = c.execute(select(replies).where(replies.c.rating_id == rating_id)).mappings().one_or_none()
    return None if row is None else _reply(row)


def of_ratings(c: Connection, rating_ids: Collection[str]) -> dict[str, OwnersReply]:
    """Read the replies to several ratings in one query."""
    if not rating_ids:
        return {}
    rows = c.execute(select(replies).where(replies.c.rating_id.in_(rating_ids))).mappings()
    return {row["rating_id"]: _reply(row) for row in rows}


def remove(c: Connection, rating_id: str, tenant: str) -> bool:
    """Take a tenant's own reply back, also where its proof has ended. False where it has none."""
    gone = delete(replies).where(replies.c.rating_id == rating_id, replies.c.tenant == tenant)
    return c.execute(gone).rowcount > 0


def _proof(c: Connection, rating: StoredRating, tenant: str) -> Domain:
    host = host_of(rating.target_url or "")
    if host is None:
        raise NotTheOwner(None, "the rated target has no address of its own, so nobody can show that it is theirs")
    mine = domains.proof(c, tenant, host)
    if mine is None:
        raise NotTheOwner(host, f"you have not shown within the last {domains.PROOF_DAYS} days that {host} is yours")
    return mine


def _check_newer(c: Connection, mine: Domain, before: OwnersReply) -> None:
    """Refuse to overwrite somebody whose proof is the newer one."""
    theirs = domains.proof(c, before.tenant, mine.host)
    if theirs is not None and (theirs.verified_at or 0) >= (mine.verified_at or 0):
        raise NotTheOwner(mine.host, f"somebody else has shown after you that {mine.host} is theirs, and has replied")


def _reply(row: RowMapping) -> OwnersReply:
    return OwnersReply(**row)
