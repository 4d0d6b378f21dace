"""Hosts that a tenant says are its own, and whether it has shown it.

The proof is a token in a file that only whoever runs the host can put there. Workers look for it
(`workers.maintenance.domain_challenge`). A proof is good for `PROOF_DAYS`, since hosts change hands.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, RowMapping, Select, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from store.core.agency_schema import domains
from store.core.clock import now_ms
from store.core.columns import new_id
from store.core.keyset import page_of

PROOF_DAYS = 90
"""Days for which a proof is good."""

DAY_MS = 86_400_000
TOKEN_BYTES = 24
DEFAULT_PORTS = {"http": 80, "https": 443}
CHALLENGE_PATH = "/.well-known/assay-challenge.txt"
"""Where the token is to be found (RFC 8615)."""


@dataclass(frozen=True)
class Domain:
    """A host and what is known of who runs it. Times are milliseconds since 1970.

    Attributes
    ----------
    host : str
        In lower case, with its port where that is not the scheme's own.
    token : str
        What the file has to hold, on a line of its own.
    state : str
        ``waiting``, ``verified`` or ``failed``: how the last look ended.
    failure : str or None
        Why it failed.
    proven : bool
        Whether there is a proof that is still good.
    """

    id: str
    tenant: str
    host: str
    token: str
    state: str
    checked_at: int | None
    failure: str | None
    verified_at: int | None
    created_at: int
    proven: bool

    @property
    def proven_until(self) -> int | None:
        """When the proof ends, or ended."""
        return None if self.verified_at is None else self.verified_at + PROOF_DAYS * DAY_MS


def host_of(url: str) -> str | None:
    """Name the host that an address leads to, as `Domain.host` does; ``None`` where it leads to none."""
    try:
        read = urlsplit(url)
        name, port = read.hostname, read.port
    except ValueError:
        return None
    if not name or read.scheme not in DEFAULT_PORTS:
        return None
    host = _name(name)
    return host if port in {None, DEFAULT_PORTS[read.scheme]} else f"{host}:{port}"


def add(c: Connection, tenant: str, host: str) -> tuple[Domain, bool]:
    """Write down that a tenant says a host is its own.

    Returns
    -------
    (Domain, bool)
        The domain, and whether it was made now: a tenant has each host once.
    """
    new = sqlite.insert(domains) if c.dialect.name == "sqlite" else postgresql.insert(domains)
    values = {
        "id": new_id("dom"),
        "tenant": tenant,
        "host": host,
        "token": f"assay-challenge={token_urlsafe(TOKEN_BYTES)}",
        "state": "waiting",
        "created_at": now_ms(),
    }
    made = new.values(values).on_conflict_do_nothing(index_elements=[domains.c.tenant, domains.c.host])
    fresh = c.execute(made.returning(domains.c.id)).scalar_one_or_none() is not None
    row = c.execute(_domains().where(domains.c.tenant == tenant, domains.c.host == host)).mappings().one()
    return _domain(row), fresh


def find(c: Connection, domain_id: str, tenant: str | None) -> Domain | None:
    """Read a tenant's domain; workers say ``None`` for the tenant."""
    query = _domains().where(domains.c.id == domain_id)
    if tenant is not None:
        query = query.where(domains.c.tenant == tenant)
    row = c.execute(query).mappings().one_or_none()
    return None if row is None else _domain(row)


def page(c: Connection, tenant: str, *, before: tuple[int, str] | None = None, limit: int) -> list[Domain]:
    """Read a tenant's domains, newest first, after ``before = (created_at, id)`` of the page before."""
    query = _domains().where(domains.c.tenant == tenant)
    query = page_of(query, domains.c.created_at, domains.c.id, before, limit)
    return [_domain(row) for row in c.execute(query).mappings()]


def checked(c: Connection, domain_id: str, failure: str | None) -> Domain | None:
    """Write down how a look for the token ended; ``None`` where the domain was removed meanwhile.

    One that fails ends the proof there was: whoever runs the host now did not leave the token there.
    """
    found = {"state": "verified", "verified_at": now_ms()} if failure is None else {"state": "failed"}
    ended = {} if failure is None else {"verified_at": None}
    change = update(domains).where(domains.c.id == domain_id)
    row = c.execute(change.values(checked_at=now_ms(), failure=failure, **found, **ended)).rowcount
    return find(c, domain_id, None) if row else None


def remove(c: Connection, domain_id: str, tenant: str) -> bool:
    """Forget a tenant's domain; replies stay. False where there is none."""
    gone = delete(domains).where(domains.c.id == domain_id, domains.c.tenant == tenant)
    return c.execute(gone).rowcount > 0


def proof(c: Connection, tenant: str, host: str) -> Domain | None:
    """Read a tenant's proof for a host, if there is one that is still good."""
    query = _domains().where(domains.c.tenant == tenant, domains.c.host == host)
    row = c.execute(query).mappings().one_or_none()
    return _domain(row) if row is not None and _proven(row) else None


def _domains() -> Select[Any]:
    return select(domains, now_ms().label("now"))


def _proven(row: RowMapping) -> bool:
    return row["verified_at"] is not None and row["now"] < row["verified_at"] + PROOF_DAYS * DAY_MS


def _domain(row: RowMapping) -> Domain:
    columns = {name: value for name, value in row.items() if name != "now"}
    return Domain(**columns, proven=_proven(row))


def _name(host: str) -> str:
    """Write a host name or address in its one form."""
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower().removesuffix(".")
    return f"[{address}]" if address.version == 6 else str(address)
