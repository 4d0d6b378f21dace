"""Hosts that refuse ratings: by the file `FILE_PATH`, which workers read, or by their verified owner.

If several tenants have a valid proof of a host, the newest proof decides; each of these tenants may rate the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, exists, func, or_, select, update

from assay.document import Json
from store.core.clock import now_ms
from store.core.engines import upsert
from store.core.errors import NotTheOwner, RatingsRefused
from store.targets.domains import PROVEN, Domain, find, host_of, owners
from store.targets.tables import domains, refusal_files

FILE_PATH = "/.well-known/assay.txt"
"""Path of the file in which a host refuses ratings (RFC 8615)."""

FILE_VALID_S = 3600
"""Seconds for which a file's content, or its absence, is stored."""

RETRY_S, LONGEST_RETRY_S = 60, 900
"""Seconds until a file that could not be read is requested again; doubled after each failure, up to the maximum."""

CALLING = frozenset({"rating", "probe", "writing"})
"""Kinds of jobs that call services."""

# a file that could not be read again counts as before until the next attempt
_CURRENT = or_(
    refusal_files.c.read_at > now_ms() - FILE_VALID_S * 1000, func.coalesce(refusal_files.c.retry_at, 0) > now_ms()
)

EXIST = or_(
    exists().where(domains.c.ratings == "refused", PROVEN), exists().where(refusal_files.c.refuses.is_(True), _CURRENT)
)
"""SQL expression: whether any host is known to refuse ratings; usually false, which saves further queries."""


@dataclass(frozen=True)
class Standing:
    """Relation of a host to a tenant: its proof, and whether it refuses ratings."""

    proven: bool
    """Whether the tenant has a valid proof of the host."""
    refusal: RatingsRefused | None
    """The refusal that applies to the tenant; ``None`` for the host's owners."""
    file_read: bool
    """Whether the host's file need not be requested now."""
    wish_known: bool = True
    """Whether the file was read, now or earlier; false if every attempt failed."""


def file_of(url: str) -> str:
    """Return the address of the file in which the host of a URL may refuse ratings."""
    return f"{url.partition('://')[0].lower()}://{host_of(url)}{FILE_PATH}"


def standing(c: Connection, tenant: str, url: str) -> Standing:
    """Read whether the host of a URL is known to refuse ratings by a tenant."""
    host, file = host_of(url), file_of(url)
    if host is None:
        return Standing(False, None, True)
    newest = domains.c.verified_at.desc()
    owner_rows = c.execute(
        select(domains.c.tenant, domains.c.ratings).where(domains.c.host == host, PROVEN).order_by(newest)
    ).all()
    stored = c.execute(select(refusal_files.c.refuses).where(refusal_files.c.url == file, _CURRENT)).one_or_none()
    refuses = stored is not None and stored.refuses
    proven, refusal = any(owner.tenant == tenant for owner in owner_rows), None
    if owner_rows and owner_rows[0].ratings == "refused":
        refusal = RatingsRefused(host, "owner", "/v1/domains")
    elif refuses:
        refusal = RatingsRefused(host, "file", file)
    wish_known = stored is None or stored.refuses is not None
    return Standing(proven, None if proven else refusal, stored is not None, wish_known)


def keep(c: Connection, url: str, refuses: bool) -> None:
    """Store whether the file at `url` refuses ratings."""
    row = {"url": url, "refuses": refuses, "read_at": now_ms(), "retry_at": None, "failures": 0}
    upsert(c, refusal_files, row)


def keep_failure(c: Connection, url: str) -> None:
    """Store that the file at `url` could not be read: its last content counts until the next attempt."""
    failures = select(refusal_files.c.failures).where(refusal_files.c.url == url)
    number = c.execute(failures.with_for_update()).scalar_one_or_none() or 0
    retry_at = now_ms() + min(LONGEST_RETRY_S, RETRY_S * 2 ** min(number, 10)) * 1000
    failed = {"retry_at": retry_at, "failures": number + 1}
    upsert(c, refusal_files, {"url": url, "refuses": None, "read_at": 0, **failed}, *failed)


def check(c: Connection, tenant: str, *described: Json | None) -> None:
    """Raise `RatingsRefused` if a host of the described targets is known to refuse ratings by a tenant."""
    for url in dict.fromkeys(url for description in described if description is not None for url in _urls(description)):
        if (refusal := standing(c, tenant, url).refusal) is not None:
            raise refusal


def set_policy(c: Connection, domain: Domain, ratings: str) -> Domain | None:
    """Set whether the owner of a domain refuses ratings; return ``None`` if the domain was removed meanwhile.

    Raises
    ------
    NotTheOwner
        If the tenant's proof is missing or expired, or another tenant has a newer proof.
    """
    owner = owners(c, [domain.host]).get(domain.host)
    if owner != domain.tenant:
        reason = "is missing or expired" if owner is None else "is older than that of another tenant"
        raise NotTheOwner(domain.host, f"your proof that {domain.host} is yours {reason}; verify it again")
    c.execute(update(domains).where(domains.c.id == domain.id).values(ratings=ratings))
    return find(c, domain.id, domain.tenant)


def _urls(target: Json) -> Iterator[str]:
    links = (target.get("settings") or {}).get("links") or ()
    for service in (target, *(link for link in links if isinstance(link, dict))):
        if url := str(service.get("base_url") or ""):
            yield url
