"""How to look for bias, one module each, and the one list of them.

To add a method: write its module, add it to `METHODS` and `AnyMethod`, give it a page under
`docs/methods/`, a demo service of known bias and a paper test. Third parties add theirs through
the entry-point group ``assay.methods``.
"""

from __future__ import annotations

from assay.methods.one_hop import OneHop
from assay.methods.round_trip import RoundTrip

AnyMethod = RoundTrip | OneHop
"""Every specification the API accepts, told apart by its ``method`` field."""

METHODS: tuple[type[AnyMethod], ...] = (RoundTrip, OneHop)
"""The same as a list, in the order of the documentation."""


__all__ = ["METHODS", "AnyMethod", "OneHop", "RoundTrip", "method_name"]


def method_name(kind: type[AnyMethod]) -> str:
    """Name a method as requests do (the default of its ``method`` field)."""
    return str(kind.method)
