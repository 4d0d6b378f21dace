"""Guard against calls to internal addresses (server-side request forgery).

A URL is parsed once, strictly, into an `Origin`, and only that is called. A name is resolved once, when a connection
is opened, and every returned address must be allowed: allowed and denied ones together indicate an attack. Then the
connection is made to a literal address, so that a second look-up cannot change it.
"""

import asyncio
import re
import socket
import tomllib
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from workers.egress.failures import AddressRefused, CallFailed

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

SPECIAL: Sequence[tuple[Network, str]] = tuple(
    (ip_network(prefix), reason)
    for prefix, reason in tomllib.loads(files(__package__).joinpath("special_networks.toml").read_text("utf-8")).items()
)
"""Networks that are not called unless the operator allows them, each with the reason; the first that fits counts."""

UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 that is assigned for global unicast (RFC 4291, section 2.4)."""


def why_denied(address: Address, allow: Sequence[Network]) -> str | None:
    """Return the reason why an address must not be called, or ``None`` if it may be called.

    `allow` are networks that the operator allows besides public addresses, even in `SPECIAL` (networks denied). An
    IPv4 address embedded in an IPv6 address counts as IPv6, and is denied unless `allow` has that IPv6 address.
    """
    if any(address in network for network in allow if network.version == address.version):
        return None
    for network, reason in SPECIAL:
        if network.version == address.version and address in network:
            return reason
    if isinstance(address, IPv6Address) and (address not in UNICAST or address.scope_id is not None):
        return "outside global unicast"
    return None


def within(addresses: Sequence[Address], networks: Sequence[Network]) -> bool:
    """Whether every address is in at least one of the networks."""
    return all(
        any(address in network for network in networks if network.version == address.version) for address in addresses
    )


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Function that returns the addresses of a host name for a port; raises `OSError` if it has none."""

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL = 2048

_LOOPBACK: Sequence[Address] = (IPv4Address("127.0.0.1"), IPv6Address("::1"))

# A label may hold an underscore: some services have such names, and resolvers accept them.
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.IGNORECASE)
_URL = re.compile(r"(?P<scheme>[^:/?#]*)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
_UNWANTED = re.compile(r"[\x00-\x20\\\x7f-\xa0]")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL; equal origins may share connections."""

    scheme: str
    host: str
    """A name in lower case without a final dot, or an address without brackets."""
    port: int
    literal: Address | None = None
    """The address, if the URL holds an address instead of a name."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@lru_cache(maxsize=256)
def read_origin(url: str) -> Origin:
    """Parse a URL, and refuse every form that two parsers could read differently.

    Raise `AddressRefused` if the URL is invalid or ambiguous; the message repeats at most the host of the URL.
    """
    if len(url) > MAX_URL:
        raise AddressRefused(f"the URL has {len(url)} characters; at most {MAX_URL} are allowed")
    if _UNWANTED.search(url):
        raise AddressRefused("the URL holds a space, a control character or a backslash; percent-encode it")
    url_parts = _URL.fullmatch(url)
    if url_parts is None or url_parts["scheme"].lower() not in DEFAULT_PORTS:
        raise AddressRefused("the URL must begin with http:// or https:// and a host")
    if "@" in url_parts["authority"]:
        raise AddressRefused("the URL holds a user name or password; give the key as the target's secret instead")
    authority = _AUTHORITY.fullmatch(url_parts["authority"])
    if authority is None or not authority["host"]:
        raise AddressRefused("the URL has no host, or its port is not a number")
    scheme = url_parts["scheme"].lower()
    # six digits suffice: the largest port has five
    port = int(authority["port"][:6]) if authority["port"] else DEFAULT_PORTS[scheme]
    if not 1 <= port <= 65535:
        raise AddressRefused("the URL's port must be between 1 and 65535")
    return _parse_host(scheme, authority["host"], port)


def origin_of(url: str) -> Origin:
    """Parse the URL of a call; raise `CallFailed` ``refused-address`` where `read_origin` raises `AddressRefused`."""
    try:
        return read_origin(url)
    except AddressRefused as refused:
        message = str(refused)
    raise CallFailed("refused-address", message)  # outside the `except` block, so that it has no `__context__`


def _parse_host(scheme: str, host: str, port: int) -> Origin:
    """Parse a host, which is a bracketed IPv6 address, a dotted IPv4 address or a name."""
    if host.startswith("["):
        try:
            address = IPv6Address(host[1:-1])
        except AddressValueError:
            raise AddressRefused("the part in brackets is not an IPv6 address") from None
        if address.scope_id is not None:
            raise AddressRefused("the address names a network interface (%); write it without one")
        return Origin(scheme, str(address), port, address)
    host = host.removesuffix(".").lower()
    if not _NAME.fullmatch(host) or len(host) > 253:  # the maximum of DNS
        raise AddressRefused("the host is not a name in plain ASCII; write an international name in its xn-- form")
    if _NUMERIC.fullmatch(host.rsplit(".", 1)[-1]):  # some parsers take a name that ends in a number for an address
        try:
            return Origin(scheme, host, port, IPv4Address(host))
        except AddressValueError:
            raise AddressRefused("the host is an address in an unusual spelling; write it as four numbers") from None
    return Origin(scheme, host, port)


def refuse_url(url: str, allow: Sequence[Network]) -> None:
    """Raise `AddressRefused` for a URL that must not be called; `allow`: networks that the operator permits too."""
    origin = read_origin(url)
    fixed_addresses = _fixed_addresses(origin)  # those of a URL with an address or ``localhost`` in place of a name
    if fixed_addresses and not _permitted_addresses(fixed_addresses, allow):
        reason = why_denied(fixed_addresses[0], allow)
        raise AddressRefused(
            f"{origin.host} is not a public address ({reason}); an operator can allow it with ASSAY_EGRESS_ALLOW"
        )


def _fixed_addresses(origin: Origin) -> Sequence[Address]:
    """Return the addresses known without a resolver: a literal one, or those of ``localhost`` (RFC 6761); else none."""
    if origin.literal is not None:
        return (origin.literal,)
    return _LOOPBACK if origin.host == "localhost" or origin.host.endswith(".localhost") else ()


def _permitted_addresses(addresses: Sequence[Address], allow: Sequence[Network]) -> list[Address]:
    return [address for address in addresses if why_denied(address, allow) is None]


async def resolve(host: str, port: int) -> Sequence[str]:
    """Resolve the addresses of a name with the system's resolver.

    A look-up cannot be cancelled and may hang long after its call, so it has a thread of its own: the threads of the
    event loop are for the ledger, and the loop waits for them at its end.
    """
    executor = ThreadPoolExecutor(1, "resolve")
    try:
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        records = await asyncio.get_running_loop().run_in_executor(executor, look_up)
    finally:
        executor.shutdown(wait=False)
    return list(dict.fromkeys(str(socket_address[0]) for *_, socket_address in records))


@dataclass(frozen=True)
class Guard:
    """Decides which addresses of a host may be called; `allow` adds to the public addresses."""

    allow: Sequence[Network]
    resolve: Resolve = resolve

    async def addresses(self, origin: Origin) -> list[Address]:
        """Return the addresses to connect to, in the resolver's order; never an empty list.

        Raise `CallFailed` ``refused-address`` if any address is denied, ``connect`` if the host has no address.
        """
        if fixed_addresses := _fixed_addresses(origin):
            if permitted_addresses := _permitted_addresses(fixed_addresses, self.allow):
                return permitted_addresses
            raise self._refusal(origin, why_denied(fixed_addresses[0], self.allow))
        try:
            addresses = [ip_address(address) for address in await self.resolve(origin.host, origin.port)]
        except (OSError, ValueError):  # ValueError: an invalid address in the answer, or a name invalid in IDNA
            raise CallFailed("connect", f"the host name {origin.host} could not be resolved") from None
        if not addresses:
            raise CallFailed("connect", f"the host name {origin.host} has no address")
        for address in addresses:  # a single denied address refuses the host; for ``localhost``, see above, it does not
            if reason := why_denied(address, self.allow):
                raise self._refusal(origin, reason)
        return addresses

    def check_peer(self, origin: Origin, peer: object) -> None:
        """Raise `CallFailed` ``refused-address`` if the connected peer is denied or unknown."""
        try:
            reason = why_denied(ip_address(str(peer)), self.allow)
        except ValueError:
            reason = "an unknown peer"
        if reason:
            raise self._refusal(origin, reason)

    @staticmethod
    def _refusal(origin: Origin, reason: str | None) -> CallFailed:
        # The address itself is not disclosed: callers could map the internal network with it.
        return CallFailed("refused-address", f"{origin.host} resolves to an address that is not public ({reason})")
