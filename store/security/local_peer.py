"""Detection of requests from this machine, which need no key to read metrics."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

PROXY_HEADERS = ("forwarded", "x-forwarded-", "x-real-ip", "via")
"""Beginnings of the names of headers that proxies add, in lower case."""


def is_local(peer: str | None, header_names: Iterable[str]) -> bool:
    """Return whether a request comes from a process of this machine.

    Parameters
    ----------
    peer : str or None
        Address of the connection's other end.
    header_names : iterable of str
        Names of the request's headers, in any case. With a header of `PROXY_HEADERS` the request came through a
        proxy on this machine, and its sender may be anywhere.
    """
    try:
        loopback = ip_address(peer or "").is_loopback
    except ValueError:
        return False
    return loopback and not any(name.lower().startswith(PROXY_HEADERS) for name in header_names)
