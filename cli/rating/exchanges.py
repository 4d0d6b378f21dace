"""Exchanges with a service, as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from workers.egress import ShownExchange

WIDTH = 100
"""Columns of the text; a longer body or message is wrapped."""


def exchange_lines(exchange: ShownExchange) -> Iterator[str]:
    """Write an exchange as text for a terminal."""
    yield f"sent    {exchange.request.method} {exchange.request.url}"
    yield from _message(exchange.request.headers, exchange.request.body)
    if exchange.response is None:
        yield f"got     nothing, after {exchange.seconds:.2f} s"
        return
    yield f"got     HTTP {exchange.response.status} after {exchange.seconds:.2f} s, {exchange.response.size:,} bytes"
    yield from _message(exchange.response.headers, exchange.response.body)


def _message(headers: Mapping[str, str], body: str) -> Iterator[str]:
    for name, value in headers.items():
        if name not in BORING:
            yield f"        {name}: {value}"
    for line in body.splitlines():
        yield from textwrap.wrap(line, WIDTH - 10, initial_indent=" " * 10, subsequent_indent=" " * 10)


BORING = frozenset({"accept", "accept-encoding", "user-agent", "date", "server", "connection", "content-length"})
"""Headers that are left out because they explain no fault; `--json` shows them."""
