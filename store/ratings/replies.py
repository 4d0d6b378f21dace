"""Right of reply: public replies of the owners of rated services, and answers to them. Neither alters the rating.

A rating has at most one reply, by a tenant with a valid proof that it owns the rated host
(`store.targets.domains`); if two tenants have such a proof, the newer proof decides. A reply can object to the
rating. The rating's requester, or the agency's operator, can answer it in public.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Connection, delete, select, update

from store.core.columns import read_clock
from store.core.engines import upsert
from store.core.errors import NotTheOwner
from store.core.rows import all_rows, one_row
from store.ratings.ratings import StoredRating
from store.ratings.tables import replies
from store.security.rights import OPERATOR_TENANT
from store.targets import domains
from store.targets.domains import Domain


@dataclass(frozen=True)
class OwnersReply:
    """A host owner's reply to a rating, and the answer to it; times are of the last changes, in ms since 1970.

    `objects` says whether the owner objects to the rating. `answered_by` is ``requester`` or ``operator``.
    """

    rating_id: str
    tenant: str
    host: str
    text: str
    link: str | None
    created_at: int
    objects: bool = False
    answer: str | None = None
    answered_by: Literal["requester", "operator"] | None = None
    answered_at: int | None = None


def put(
    c: Connection, rating: StoredRating, tenant: str, text: str, link: str | None, *, objects: bool = False
) -> tuple[OwnersReply, bool]:
    """Add or replace the reply to a rating that the tenant may see; with `objects`, the reply objects to the rating.

    Return the reply, and whether the rating had no reply before. If the tenant replaces its own reply, the answer to
    it stays; if it replaces the reply of another tenant, the answer is removed.

    Raise `NotTheOwner` if the tenant has no valid proof that it owns the host, or if the other tenant's proof is not
    older.
    """
    proof = _read_proof(c, rating, tenant)
    earlier_reply = find(c, rating.id)
    if earlier_reply is not None and earlier_reply.tenant != tenant:
        earlier_proof = domains.proof(c, earlier_reply.tenant, proof.host)
        if earlier_proof is not None and (earlier_proof.verified_at or 0) >= (proof.verified_at or 0):
            message = f"another tenant has replied, with a newer proof that {proof.host} is theirs"
            raise NotTheOwner(proof.host, message)
    reply = OwnersReply(rating.id, tenant, proof.host, text, link, created_at=read_clock(c), objects=objects)
    if earlier_reply is not None and earlier_reply.tenant == tenant:
        stored_answer = {name: getattr(earlier_reply, name) for name in ("answer", "answered_by", "answered_at")}
        reply = replace(reply, **stored_answer)
    upsert(c, replies, vars(reply))
    return reply, earlier_reply is None


def answer(c: Connection, rating: StoredRating, tenant: str, text: str) -> OwnersReply | None:
    """Answer the reply to a rating, as its requester or as the operator; return ``None`` if there is no reply.

    The requester does not replace an answer of the operator.
    """
    role = "operator" if tenant == OPERATOR_TENANT else "requester"
    statement = update(replies).where(replies.c.rating_id == rating.id)
    if role == "requester":
        statement = statement.where(replies.c.answered_by.is_distinct_from("operator"))
    c.execute(statement.values(answer=text, answered_by=role, answered_at=read_clock(c)))
    return find(c, rating.id)


def find(c: Connection, rating_id: str) -> OwnersReply | None:
    """Read the reply to a rating; ``None`` if it has none."""
    return one_row(c, select(replies).where(replies.c.rating_id == rating_id), OwnersReply)


def of_ratings(c: Connection, rating_ids: Collection[str]) -> dict[str, OwnersReply]:
    """Read the replies to several ratings in one query."""
    rows = all_rows(c, select(replies).where(replies.c.rating_id.in_(rating_ids)), OwnersReply)
    return {reply.rating_id: reply for reply in rows}


def remove(c: Connection, rating_id: str, tenant: str) -> bool:
    """Delete a tenant's own reply, even if the tenant's proof has expired; return false if there is no reply."""
    return c.execute(delete(replies).where(replies.c.rating_id == rating_id, replies.c.tenant == tenant)).rowcount > 0


def _read_proof(c: Connection, rating: StoredRating, tenant: str) -> Domain:
    """Read the tenant's proof that it owns the rated host; raise `NotTheOwner` without a valid proof."""
    host = rating.host
    if host is None:
        raise NotTheOwner(host, "the rated target has no address of its own, so nobody can prove to own it")
    proof = domains.proof(c, tenant, host)
    if proof is None:
        message = f"no proof of the last {domains.PROOF_DAYS} days shows that {host} is yours; verify it again"
        raise NotTheOwner(host, message)
    return proof
