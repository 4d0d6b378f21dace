"""Exchanges with a service, as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from workers.egress import ShownExchange

WIDTH = 100
"""Columns of the text; a longer body or message is wrapped."""


def exchange_lines(shown: ShownExchange) -> Iterator[str]:
    """Write an exchange as text for a terminal."""
    yield f"sent    {shown.request.method} {shown.request.url}"
    yield from _message(shown.request.headers, shown.request.body)
    if shown.response is None:
        yield f"got     nothing, after {shown.seconds:.2f} s"
        return
    yield f"got     HTTP {shown.response.status} after {shown.seconds:.2f} s, {shown.response.size:,} bytes"
    yield from _message(shown.response.headers, shown.response.body)


def _message(headers: Mapping[str, str], body: str) -> Iterator[str]:
    for name, value in headers.items():
        if name not in BORING:
            yield f"        {name}: {value}"
    for line in body.splitlines():
        yield from textwrap.wrap(line, WIDTH - 10, initial_indent=" " * 10, subsequent_indent=" " * 10)


BORING = frozenset({"accept", "accept-encoding", "user-agent", "date", "server", "connection", "content-length"})
"""Headers that are left out because they explain no fault; `--json` shows them."""
