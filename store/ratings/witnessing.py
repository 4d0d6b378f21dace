"""Cosignatures of the agency's log by witnesses, and the newest heads that the agency cosigned for other logs."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from sqlalchemy import Connection, func, select, update

from assay.evidence.merkle import EMPTY_HEAD, proves_growth
from store.core.columns import now_ms, read_clock
from store.core.engines import insert_into
from store.core.errors import NotAnExtension, OtherHead
from store.ratings.log import TreeHead
from store.ratings.tables import cosignatures, witnessed_logs

LOG_PATH, WITNESS_PATH = "/v1/log", "/v1/witness"


def log_name(public_url: str | None) -> str:
    """Return the name of the agency's log: the operator's public address, never the host of a request."""
    return _address_without_scheme(public_url, LOG_PATH) or "assay/log"


def witness_name(public_url: str | None) -> str:
    """Return the name under which this agency cosigns the logs of others."""
    return _address_without_scheme(public_url, WITNESS_PATH) or "assay/witness"


def _address_without_scheme(public_url: str | None, path: str) -> str | None:
    address = urlsplit(public_url or "")
    return f"{address.netloc}{address.path.rstrip('/')}{path}" if address.netloc else None


def keep(c: Connection, origin: str, size: int, witness: str, line: str) -> None:
    """Store a verified cosignature (`line`) of a log of `size` entries, once for each verifier key (`witness`)."""
    row = {"origin": origin, "size": size, "witness": witness, "line": line, "created_at": now_ms()}
    c.execute(insert_into(c, cosignatures).values(row).on_conflict_do_nothing())


def newest_size(c: Connection, origin: str, witness: str | None = None) -> int:
    """Return the largest size of the log `origin` that a witness (``None``: any) has cosigned; 0 if there is none."""
    query = select(func.max(cosignatures.c.size)).where(cosignatures.c.origin == origin)
    if witness is not None:
        query = query.where(cosignatures.c.witness == witness)
    return c.execute(query).scalar_one_or_none() or 0


def lines(c: Connection, origin: str, size: int) -> list[str]:
    """List the witnesses' cosignatures of a log with `size` entries, as lines of a signed note without line ends."""
    query = select(cosignatures.c.line).where(cosignatures.c.origin == origin, cosignatures.c.size == size)
    return list(c.execute(query.order_by(cosignatures.c.created_at, cosignatures.c.witness)).scalars())


def heads(c: Connection) -> dict[str, TreeHead]:
    """Return the latest head (size and root hash) of each log that this agency witnesses, by the log's name."""
    query = select(witnessed_logs.c.origin, witnessed_logs.c.size, witnessed_logs.c.root)
    return {row.origin: TreeHead(row.size, row.root) for row in c.execute(query)}


def witness(c: Connection, origin: str, old_size: int, new_head: TreeHead, proof: Sequence[bytes]) -> int:
    """Replace the latest head of a log, if the new head extends it; the caller has verified the signature.

    `old_size` is the size of the latest head as the log states it; `proof` shows that `new_head` extends it.
    Return the time by the clock of the database, in seconds since 1970.

    Raise `OtherHead` if `old_size` is not the size of the latest head, or `new_head` has the same size and another
    root, and `NotAnExtension` if the consistency proof is wrong.
    """
    empty_row = {"origin": origin, "size": 0, "root": EMPTY_HEAD, "updated_at": now_ms()}
    c.execute(insert_into(c, witnessed_logs).values(empty_row).on_conflict_do_nothing())
    # the lock makes the comparison with the latest head and its replacement one step
    of_origin = witnessed_logs.c.origin == origin
    row = c.execute(select(witnessed_logs.c.size, witnessed_logs.c.root).where(of_origin).with_for_update()).one()
    latest_head = TreeHead(row.size, row.root)
    if old_size != latest_head.size or (new_head.size == latest_head.size and new_head.root != latest_head.root):
        raise OtherHead(latest_head.size)
    if not proves_growth(latest_head.size, new_head.size, latest_head.root, new_head.root, proof):
        raise NotAnExtension(origin, latest_head.size, new_head.size)
    now = read_clock(c)
    c.execute(update(witnessed_logs).where(of_origin).values(size=new_head.size, root=new_head.root, updated_at=now))
    return now // 1000
