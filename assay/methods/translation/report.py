"""Tables and figures of the translation methods in a report.

All that they find (transitions, rates, blocks, looks, examples, published analyses) are common fields of the
document, which every report shows by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.reports.view import Picture, Table

Part = Mapping[str, Any]


def counted(_part: Part) -> str:
    """Say what is counted."""
    return "Texts"


def tables(_part: Part) -> Iterable[Table | None]:
    """Make no table beyond those of the common fields."""
    return ()


def figures(_part: Part) -> Iterable[Picture | None]:
    """Make no figure beyond those of the common fields."""
    return ()
