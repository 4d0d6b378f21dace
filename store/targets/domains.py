"""Hosts that tenants claim to own, and the proofs of their claims.

The proof is a token in a file that only the operator of the host can place there. Workers check it
(`workers.maintenance.unrated_jobs`). A proof is valid for `PROOF_DAYS`, since hosts change owners.

A host refuses ratings by the file `FILE_PATH`, which workers read, or by the choice of its verified owner. If several
tenants have a valid proof of a host, the newest proof decides; each of these tenants may rate the host.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from secrets import token_urlsafe
from urllib.parse import quote, unquote, urlsplit

from sqlalchemy import ColumnElement, Connection, Subquery, exists, false, func, or_, select, update

from assay.document import Json
from store.core.columns import new_id, now_ms
from store.core.engines import insert_into, upsert
from store.core.errors import NotTheOwner, RatingsRefused
from store.core.rows import one_row
from store.quota import quota
from store.quota.tenant_rows import TenantRows
from store.targets.tables import domains, refusal_files

PROOF_DAYS = 90
"""Days for which the proof that a tenant owns a host is valid."""

DAY_MS = 86_400_000
TOKEN_BYTES = 24
DEFAULT_PORTS = {"http": 80, "https": 443}
CHALLENGE_PATH = "/.well-known/assay-challenge.txt"
"""Path of the file with the token by which a tenant proves to own a host (RFC 8615)."""

PROVEN = domains.c.verified_at > now_ms() - PROOF_DAYS * DAY_MS
"""SQL expression: whether a row of `domains` has a proof that is valid now."""

MAX_PATH = 500
"""Maximum length of a path in a canonical address; a longer path is replaced by its digest."""

_UNENCODED_IN_SEGMENTS = "!$&'()*+,;=:@"
"""Reserved characters that a segment of a path may hold unencoded (RFC 3986, section 3.3)."""


@dataclass(frozen=True)
class Domain:
    """A host that a tenant claims to own. Times are milliseconds since 1970.

    `host` is in lower case, with the port unless it is the scheme's default. `token` is a line that the file at
    `CHALLENGE_PATH` must contain. `state` is the result of the last check: ``waiting``, ``verified`` or ``failed`` for
    the reason `failure`. `proven` tells if the proof is valid. `ratings` is ``allowed`` or ``refused`` by the owner.
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
    ratings: str = "allowed"

    @property
    def proven_until(self) -> int | None:
        """Time at which the proof expires; ``None`` without a proof."""
        return None if self.verified_at is None else self.verified_at + PROOF_DAYS * DAY_MS


def host_of(url: str) -> str | None:
    """Return the host of a URL in the form of `Domain.host`, or ``None`` if the URL has no host."""
    try:
        address = urlsplit(url)
        name, port = address.hostname, address.port
    except ValueError:
        return None
    if not name or address.scheme not in DEFAULT_PORTS:
        return None
    host = _normalise_host(name)
    return host if port in {None, DEFAULT_PORTS[address.scheme]} else f"{host}:{port}"


def canonical_address(url: str) -> str | None:
    """Return the address of a service in a form that is equal for all its URLs; ``None`` if the URL has no host.

    It is the host in the form of `Domain.host` and the path, normalised as in RFC 3986, section 6.2, without
    repeated and final slashes. Scheme, user name, query and fragment are left out: addresses of rated services have
    no query, and the owner of a host answers for http and https, whose ports are both left out. Dot segments and
    encoded slashes are kept: calls contain them, and a server may resolve them to the path of another service.
    """
    host = host_of(url)
    if host is None:
        return None
    host = host.removesuffix(":80").removesuffix(":443")
    segments = [unquote(segment, errors="surrogateescape") for segment in urlsplit(url).path.split("/") if segment]
    path = "".join(f"/{quote(segment, safe=_UNENCODED_IN_SEGMENTS, errors='surrogateescape')}" for segment in segments)
    return host + (path if len(path) <= MAX_PATH else f"/sha256:{sha256(path.encode()).hexdigest()}")


ROWS = TenantRows(domains, Domain, computed=(func.coalesce(PROVEN, false()).label("proven"),))

find, page = ROWS.find, ROWS.page

remove = ROWS.remove
"""Delete a tenant's domain and keep its replies; return false if there is none."""


def add(c: Connection, tenant: str, host: str) -> tuple[Domain, bool]:
    """Add a tenant's claim to a host, unless it exists; return the domain and whether it is new."""
    values = {"id": new_id("dom"), "tenant": tenant, "host": host, "state": "waiting", "created_at": now_ms()}
    values |= {"token": f"assay-challenge={token_urlsafe(TOKEN_BYTES)}"}
    statement = insert_into(c, domains).values(values).on_conflict_do_nothing(index_elements=["tenant", "host"])
    is_new = c.execute(statement.returning(domains.c.id)).scalar_one_or_none() is not None
    if is_new:
        quota.add_size(c, domains, tenant, domains.c.id == values["id"])
    row = c.execute(ROWS.select(domains.c.tenant == tenant, domains.c.host == host)).mappings().one()
    return Domain(**row), is_new


def record_check(c: Connection, domain_id: str, failure: str | None) -> Domain | None:
    """Record whether a host's file has the token; if so, `failure` is ``None``. Return ``None`` for a removed domain.

    A failed check ends an earlier proof: the host may have another owner now.
    """
    state, verified_at = ("verified", now_ms()) if failure is None else ("failed", None)
    values = {"state": state, "checked_at": now_ms(), "failure": failure, "verified_at": verified_at}
    c.execute(update(domains).where(domains.c.id == domain_id).values(values))
    return find(c, domain_id, None)


def proof(c: Connection, tenant: str, host: str) -> Domain | None:
    """Read a tenant's claim to a host, with the proof of it; return ``None`` without a valid proof."""
    return one_row(c, ROWS.select(domains.c.tenant == tenant, domains.c.host == host, PROVEN), Domain)


def owner_of(host: ColumnElement[str | None] | str) -> ColumnElement[str | None]:
    """Return the tenant with the newest valid proof of a host, as an SQL expression; NULL if nobody has one."""
    newest = select(domains.c.tenant).where(domains.c.host == host, PROVEN)
    return newest.order_by(domains.c.verified_at.desc(), domains.c.id.desc()).limit(1).scalar_subquery()


def current_owners() -> Subquery:
    """Return a subquery of hosts and the tenants with their newest valid proofs, for queries over many hosts."""
    newest_first = (domains.c.verified_at.desc(), domains.c.id.desc())
    rank = func.row_number().over(partition_by=domains.c.host, order_by=newest_first)
    ranked_domains = select(domains.c.host, domains.c.tenant, rank.label("place")).where(PROVEN).subquery()
    return select(ranked_domains.c.host, ranked_domains.c.tenant).where(ranked_domains.c.place == 1).subquery()


def owners(c: Connection, hosts: Collection[str]) -> dict[str, str]:
    """Read the tenant with the newest valid proof of each host, by host; hosts without a proof are left out."""
    query = select(domains.c.host, domains.c.tenant).where(domains.c.host.in_(hosts), PROVEN)
    rows = c.execute(query.order_by(domains.c.verified_at, domains.c.id))
    return {row.host: row.tenant for row in rows}  # the newest proof of a host comes last


def _normalise_host(host: str) -> str:
    """Return an IP address in its usual spelling, or a host name in lower case and ASCII."""
    try:
        address = ip_address(host)
    except ValueError:
        host = host.lower().removesuffix(".")
        if not host.isascii():
            with suppress(UnicodeError):  # a name without an ``xn--`` form stays as it is
                host = host.encode("idna").decode("ascii")
        return host
    return f"[{address}]" if address.version == 6 else str(address)


FILE_PATH = "/.well-known/assay.txt"
"""Path of the file in which a host refuses ratings (RFC 8615)."""

FILE_VALID_S = 3600
"""Seconds for which the content of a host's file `FILE_PATH`, or its absence, counts before it is read again."""

RETRY_S, LONGEST_RETRY_S = 60, 900
"""Seconds until a host's file that could not be read is requested again: after one failure, and at most."""

CALLING = frozenset({"rating", "probe", "writing", "watch"})
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
    """Relation of a host to a tenant: whether the tenant owns it, and whether it refuses the tenant's ratings."""

    proven: bool
    """Whether the tenant has a valid proof that it owns the host."""
    refusal: RatingsRefused | None
    """The host's refusal of ratings by the tenant; ``None`` if it refuses none, or the tenant owns the host."""
    file_read: bool
    """Whether the stored content of the host's file is current, or the next attempt to read it is not due."""
    wish_known: bool = True
    """False if every attempt to read the file failed."""


def file_of(url: str) -> str:
    """Return the address of the file in which the host of a URL may refuse ratings."""
    return f"{url.partition('://')[0].lower()}://{host_of(url)}{FILE_PATH}"


def standing(c: Connection, tenant: str, url: str) -> Standing:
    """Read whether a tenant has proved to own a URL's host, and whether the host refuses ratings by the tenant."""
    host, file_url = host_of(url), file_of(url)
    if host is None:
        return Standing(proven=False, refusal=None, file_read=True)  # there is no file to read
    owners_query = select(domains.c.tenant, domains.c.ratings).where(domains.c.host == host, PROVEN)
    owner_rows = c.execute(owners_query.order_by(domains.c.verified_at.desc())).all()
    query = select(refusal_files.c.refuses).where(refusal_files.c.url == file_url, _CURRENT)
    refusal_file = c.execute(query).one_or_none()
    refuses = refusal_file is not None and refusal_file.refuses
    is_owner = any(owner.tenant == tenant for owner in owner_rows)
    refusal = None
    if owner_rows and owner_rows[0].ratings == "refused":  # the newest proof decides
        refusal = RatingsRefused(host, "owner", "/v1/domains")
    elif refuses:
        refusal = RatingsRefused(host, "file", file_url)
    return Standing(
        proven=is_owner,
        refusal=None if is_owner else refusal,
        file_read=refusal_file is not None,
        wish_known=refusal_file is None or refusal_file.refuses is not None,  # None: no attempt to read it succeeded
    )


def keep(c: Connection, url: str, refuses: bool) -> None:
    """Store whether the file at `url` refuses ratings."""
    upsert(c, refusal_files, {"url": url, "refuses": refuses, "read_at": now_ms(), "retry_at": None, "failures": 0})


def keep_failure(c: Connection, url: str) -> None:
    """Store that the file at `url` could not be read: its last content counts until the next attempt."""
    query = select(refusal_files.c.failures).where(refusal_files.c.url == url)
    failure_count = c.execute(query.with_for_update()).scalar_one_or_none() or 0
    # the exponent is limited too, so that the power stays small; the maximum delay is reached long before
    retry_at = now_ms() + min(LONGEST_RETRY_S, RETRY_S * 2 ** min(failure_count, 10)) * 1000
    values = {"retry_at": retry_at, "failures": failure_count + 1}
    # if the row exists, only `values` are replaced, so that its last content stays
    upsert(c, refusal_files, {"url": url, "refuses": None, "read_at": 0, **values}, *values)


def check(c: Connection, tenant: str, *targets: Json | None) -> None:
    """Raise `RatingsRefused` if a host of the described targets is known to refuse ratings by a tenant."""
    for url in dict.fromkeys(url for target in targets if target is not None for url in _called_urls(target)):
        if (refusal := standing(c, tenant, url).refusal) is not None:
            raise refusal


def set_policy(c: Connection, domain: Domain, ratings: str) -> Domain | None:
    """Set whether the owner of a domain refuses ratings; return ``None`` if the domain was removed meanwhile.

    Raise `NotTheOwner` if the tenant's proof is missing or expired, or another tenant has a newer proof.
    """
    owner = owners(c, [domain.host]).get(domain.host)
    if owner != domain.tenant:
        reason = "is missing or expired" if owner is None else "is older than that of another tenant"
        raise NotTheOwner(domain.host, f"your proof that {domain.host} is yours {reason}; verify it again")
    c.execute(update(domains).where(domains.c.id == domain.id).values(ratings=ratings))
    return find(c, domain.id, domain.tenant)


def _called_urls(target: Json) -> Iterator[str]:
    """Yield the addresses of a target and, for a chain, of its links."""
    links = (target.get("settings") or {}).get("links") or ()
    for service in (target, *(link for link in links if isinstance(link, dict))):
        if url := str(service.get("base_url") or ""):
            yield url
