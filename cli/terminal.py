"""Text of services, catalogs and other agencies on a terminal: it moves no cursor, begins no line, reorders nothing."""

from __future__ import annotations

from typing import Any

from rich import markup

from reports.plain import codes


def escape(text: Any) -> str:
    """Return a text for `rich`: brackets are no markup, and invisible characters and line ends are codes."""
    return markup.escape(codes(str(text)))
