"""Which addresses are not for calling: a table, and nobody's idea of "global".

The standard library's `is_global` changes with its version and lets translation prefixes through,
so the table is written down here. It holds the special-purpose registries of IANA and the few
addresses that clouds added on their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates); the multicast
# registries; metadata services after their vendors' documentation.  A narrower range comes before
# the wider one that holds it, so that the reason is the telling one.
SPECIAL: Sequence[tuple[Network, str]] = tuple(
    (ip_network(prefix), what)
    for prefix, what in (
        ("169.254.169.254/32", "a cloud metadata service"),
        ("169.254.170.2/32", "a cloud metadata service"),
        ("168.63.129.16/32", "a cloud platform service"),
        ("100.100.100.200/32", "a cloud metadata service"),
        ("192.0.0.192/32", "a cloud metadata service"),
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "shared carrier space"),
        ("127.0.0.0/8", "this machine"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "an AS112 sink"),
        ("192.52.193.0/24", "multicast tunnelling"),
        ("192.88.99.0/24", "the 6to4 relay"),
        ("192.168.0.0/16", "a private network"),
        ("192.175.48.0/24", "an AS112 sink"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("fd00:ec2::254/128", "a cloud metadata service"),
        ("::/128", "the unspecified address"),
        ("::1/128", "this machine"),
        ("::ffff:0:0/96", "IPv4 in disguise"),
        ("64:ff9b::/96", "IPv4 behind a translator"),
        ("64:ff9b:1::/48", "IPv4 behind a translator"),
        ("100::/64", "discarded"),
        ("2001::/23", "protocol assignments"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "IPv4 behind 6to4"),
        ("2620:4f:8000::/48", "an AS112 sink"),
        ("3fff::/20", "documentation"),
        ("5f00::/16", "segment routing"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "a private network"),
        ("ff00::/8", "multicast"),
    )
)

UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 that is assigned for global unicast (RFC 4291, section 2.4)."""


def why_denied(address: Address, allow: Sequence[Network]) -> str | None:
    """Say what is special about an address, or ``None`` if it may be called.

    Parameters
    ----------
    address : IPv4Address or IPv6Address
        The address as it would be dialled. An IPv4 address written inside an IPv6 one is IPv6
        here, and denied as such unless `allow` holds it in that form.
    allow : sequence of network
        What the operator allows beside public addresses; it overrides the table.
    """
    if any(address in network for network in allow if network.version == address.version):
        return None
    for network, what in SPECIAL:
        if network.version == address.version and address in network:
            return what
    if isinstance(address, IPv6Address) and (address not in UNICAST or address.scope_id is not None):
        return "outside global unicast"
    return None
